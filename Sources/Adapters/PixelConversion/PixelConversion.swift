// Adapters/PixelConversion
