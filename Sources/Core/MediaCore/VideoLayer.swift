/// A temporal layer of a video stream, with all layers below it.
public struct VideoLayer: Hashable, Sendable {
    /// 0 is the base layer.
    public var temporalLayer: UInt8
    /// What came in the last second.
    public var bitrate: Bitrate
    /// What the encoder aims at; nil if that is not known.
    public var target: Bitrate?
    /// In pixels; nil if it is not known.
    public var size: PixelSize?

    public init(temporalLayer: UInt8, bitrate: Bitrate, target: Bitrate? = nil, size: PixelSize? = nil) {
        self.temporalLayer = temporalLayer
        self.bitrate = bitrate
        self.target = target
        self.size = size
    }
}
