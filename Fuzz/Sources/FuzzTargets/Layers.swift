import Admission
import FoundationEssentials
import MediaCore

@testable import HTTP
@testable import Signaling

func fuzzLinkHeader(_ bytes: UnsafeRawBufferPointer) {
    let links = LinkHeader.parse([String(decoding: bytes, as: UTF8.self)])
    require(links.count <= 64, "links of a message")
    for link in links { require(!link.target.contains(">"), "the target of a link") }
}

func fuzzLayers(_ bytes: UnsafeRawBufferPointer) {
    if let layers = try? JSONDecoder().decode(VideoLayers.self, from: Data(bytes)) {
        require(layers.layers.count <= 64, "layers of a video")
        require(layers.layers.allSatisfy { $0.bitrate.bitsPerSecond >= 0 }, "the bitrate of a layer")
        guard let data = try? JSONEncoder().encode(layers),
            let again = try? JSONDecoder().decode(VideoLayers.self, from: data)
        else { fatalError("layers that were written cannot be read") }
        require(again.line == layers.line && again.layers == layers.layers, "layers that were written")
    }
    if let selection = try? JSONDecoder().decode(LayerSelection.self, from: Data(bytes)) {
        require(selection.highestTemporalLayer ?? 0 >= 0, "a selected layer")
    }
}
