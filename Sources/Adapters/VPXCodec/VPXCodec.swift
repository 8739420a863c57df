// Adapters/VPXCodec
