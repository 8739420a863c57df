package import Admission
package import MediaCore
import MediaEngine

/// Tells viewers which temporal layers there are, and limits them to those that they select (WHEP's layer selection).
extension Broadcast {
    /// Limits the layers that a viewer gets, or lifts the limit.
    /// - Throws: `.unprocessable` if there is no such layer.
    package func select(_ selection: LayerSelection, for id: SessionID) throws(OfferRefusal) {
        guard let viewer = viewers[id] else {
            throw OfferRefusal(.unknownSession, "There is no such session.")
        }
        guard let line = viewer.videoLine, selection.mediaId ?? String(line) == String(line) else {
            throw OfferRefusal(.unprocessable, "That m-line has no video.")
        }
        guard selection.rid == nil else {
            throw OfferRefusal(.unprocessable, "There is no simulcast encoding.")
        }
        guard selection.spatialLayerId ?? 0 == 0 else {
            throw OfferRefusal(.unprocessable, "There is one spatial layer, 0.")
        }
        let encoding = layerReporter[viewer.frames.encodingSelector.encoding]
        guard selection.temporalLayerId ?? 0 <= max(encoding.layers.count - 1, 0) else {
            throw OfferRefusal(.unprocessable, "There is no such temporal layer now.")
        }
        if let size = encoding.size,
            selection.maxWidth ?? size.width < size.width || selection.maxHeight ?? size.height < size.height
        {
            throw OfferRefusal(.unprocessable, "There is one size, \(size.width) x \(size.height).")
        }
        viewer.limitLayers(to: selection.highestTemporalLayer)
    }

    /// Runs after each frame.
    func reportLayers(now: MediaInstant) {
        guard layerReporter.isDue(now: now) else { return }
        if let forwarded {
            layerReporter.update(forwarded: forwarded, now: now)
        } else {
            layerReporter.update(policy.decision, now: now)
        }
        for viewer in viewers.all {
            guard viewer.isConnected, let line = viewer.videoLine else { continue }
            let encoding = viewer.frames.encodingSelector.encoding
            let present = layerReporter[encoding]
            guard present.report > 0, viewer.takeReport(present.report, of: encoding) else { continue }
            delegate?.broadcast(has: present.layers, in: line, of: viewer.id)
        }
    }

    /// Takes in the size of forwarded video, with each key frame.
    package func note(forwardedSize size: PixelSize) { layerReporter.note(size: size) }
}
