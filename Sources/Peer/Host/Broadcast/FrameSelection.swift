import MediaEngine

/// Selects the frames that one viewer gets, by encoding and layer.
struct FrameSelection {
    var layerFilter = TemporalLayerFilter()
    var encodingSelector = EncodingSelector()
    var freezeMeter = FreezeMeter()
    var replacement = BacklogReplacement()
}
