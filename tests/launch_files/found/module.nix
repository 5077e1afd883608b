{ pkgs, ... }: {
  systemd.services.sglang = {
    description = "sglang.launch_server";
    serviceConfig = {
      ExecStart = "${pkgs.python3}/bin/python -m sglang.launch_server --model-path org/a --tp-size 8";
      Restart = "always";
    };
    script = ''
      export A=1
      exec ${pkgs.vllm}/bin/vllm serve org/b --tensor-parallel-size 2 --port ''${PORT}
    '';
  };
  x = [ "vllm" "serve" "org/c" "--port" "1" ];
}
