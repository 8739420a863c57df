// Adapters/OpusCodec
