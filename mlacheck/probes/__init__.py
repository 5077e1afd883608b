"""Learn the target: engine, FlashInfer, GPU, model."""
