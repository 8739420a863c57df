import MediaEngine

/// Which frames one viewer gets: of which encoding and layer, and what it waits for.
struct FrameSelection {
    var gate = TemporalLayerFilter()
    var plan = EncodingSelector()
    var holds = FreezeMeter()
}
