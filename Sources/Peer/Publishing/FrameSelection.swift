import MediaEngine

/// Selects the frames that one viewer gets, by encoding and layer.
struct FrameSelection {
    var gate = TemporalLayerFilter()
    var plan = EncodingSelector()
    var holds = FreezeMeter()
}
