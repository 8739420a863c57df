package import Admission
package import Identifiers
package import MediaCore
import MediaEngine

/// Viewers that get the same report of layers.
private struct LayerAudience: Hashable {
    var encoding: EncodingID
    /// The number of the video's m-line.
    var line: Int
}

/// Tells viewers which temporal layers there are, and limits them to those that they select (WHEP's layer selection).
extension Broadcast {
    /// Limits the layers that a viewer gets, or lifts the limit.
    /// - Throws: `.unprocessable` if there is no such layer.
    package func select(_ selection: LayerSelection, for id: SessionID) throws(OfferRefusal) {
        guard let viewer = viewers[id] else {
            throw OfferRefusal(.unknownSession, "There is no such session.")
        }
        let encoding = layerReporter[viewer.frames.encodingSelector.encoding]
        viewer.limitLayers(to: try encoding.highestLayer(for: selection, line: viewer.videoLine))
    }

    /// Runs after each frame.
    func reportLayers(now: MediaInstant) {
        // 10 ms for each viewer: a report takes some us for each of them.
        let least = MediaDuration.milliseconds(10 * viewers.count)
        guard layerReporter.update(policy.decision, forwarded: forwarding?.media.video, least: least, now: now) else {
            return
        }
        tellLayers(viewers.all)
    }

    /// Tells those viewers that have not had the last report of their encoding.
    func tellLayers(_ viewers: some Collection<ViewerPeer>) {
        var told: [LayerAudience: [SessionID]] = [:]
        for viewer in viewers {
            guard viewer.isConnected, let line = viewer.videoLine else { continue }
            let encoding = viewer.frames.encodingSelector.encoding
            let report = layerReporter[encoding].report
            guard report > 0, viewer.takeReport(report, of: encoding) else { continue }
            told[LayerAudience(encoding: encoding, line: line), default: []].append(viewer.id)
        }
        for (audience, sessions) in told {
            delegate?.handle(.layers(layerReporter[audience.encoding].layers, line: audience.line, of: sessions))
        }
    }

    /// Takes in the size of forwarded video, with each key frame.
    package func note(forwardedSize size: PixelSize) { layerReporter.note(size: size) }
}
