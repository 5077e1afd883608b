local model = 'org/a';
{
  spec: { containers: [{
    name: 'sglang', image: 'lmsysorg/sglang:v0.5.18',
    command: ['python3', '-m', 'sglang.launch_server'],
    args: ['--model-path', model, '--tp-size', '8', '--port', '%d' % 30000],
  }] },
  script: |||
    vllm serve org/b --port 1
  |||,
}
