package import EventLoop
import LinuxRuntime
package import MediaCore
import MediaEngine
package import PeerConnection
import RTPWire
package import SessionDescription

/// Receives the media of one peer over a `PeerConnection`, and passes it to a sink, which stays the same when the
/// connection is replaced. Confined to the network loop.
package final class ReceiveStream {
    package enum Event {
        case connected(path: String)
        /// No packets arrive from the peer.
        case interrupted(lastHeard: MediaInstant)
        case resumed(path: String, after: MediaDuration)
        case notice(Notice)
        /// Frames come whose keys the host has not handed over yet.
        case keysNeeded
        /// The connection is over.
        case ended(EndReason)
    }

    package let sink: any EncodedMediaSink
    private let loop: EventLoop
    /// See `ReceiverParameters`.
    private let packetCapacity: Int
    /// Called on the loop.
    let report: (Event) -> Void
    package private(set) var connection: PeerConnection?
    /// Connections that were replaced and are still closing.
    private var retired: [PeerConnection] = []
    package private(set) var isClosed = false
    /// One instant on the wall clock and on the media clock.
    let epoch = (wall: WallClock.now(), media: MonotonicClock.now)
    /// The user knows that the peer sends video packets that are too long, and are left out.
    var hasToldTooLong = false
    /// Decrypts what comes; nil: it is not encrypted.
    var decryption: FrameDecryption?
    /// The user knows that what comes is not the host's.
    var hasToldTampered = false
    /// The highest temporal layer since the last report; nil if no frame came.
    var layer: UInt8?
    /// The RTP timestamp of the newest frame; nil before the first one.
    var newestFrame: UInt32?

    /// What inputs of the viewer aim at: the newest frame. Relays give it timestamps of their own.
    var shownFrame: ShownFrame {
        decryption == nil
            ? ShownFrame(timestamp: newestFrame, sealed: nil)
            : ShownFrame(timestamp: nil, sealed: decryption?.newestFrame)
    }

    struct ShownFrame: Sendable {
        let timestamp: UInt32?
        let sealed: SealedFrameID?
    }

    /// The silence that is an interruption. The peer sends a sender report at least each second.
    package static let interruptionThreshold = MediaDuration.seconds(3)

    package init(
        loop: EventLoop, sink: any EncodedMediaSink, packetCapacity: Int = 4_096, report: @escaping (Event) -> Void
    ) {
        (self.loop, self.sink, self.packetCapacity, self.report) = (loop, sink, packetCapacity, report)
    }

    // MARK: Setting up

    /// Opens a connection, which gathers candidates and replaces the present one.
    /// - Parameter allowance: limits what the peer can cause; nil for a peer that this side has chosen.
    package func open(
        _ configuration: PeerConnection.Configuration, allowance: (any TransportAllowance)? = nil
    ) throws(EndReason) -> PeerConnection {
        guard !isClosed else { throw EndReason(.stopped, "the session is over") }
        do {
            let next = try PeerConnection(loop: loop, configuration, allowance: allowance)
            closeConnection()
            connection = next
            next.delegate = self
            return next
        } catch {
            throw EndReason(.failed, "cannot prepare to receive: \(error)")
        }
    }

    package func closeConnection() {
        guard let old = connection else { return }
        connection = nil
        retired.append(old)
        let box = WeakBox(self)
        old.close { box.value?.retired.removeAll { $0 === old } }
    }

    /// Applies the peer's description, an answer or an offer: starts the sink and the connection.
    package func begin(_ remote: some RemoteDescription) throws(EndReason) {
        guard !isClosed else { return }
        let bound = LoopBound(loop, WeakBox(self))
        do throws(MediaSinkFailure) {
            try sink.start(
                EncodedMediaFormat(remote),
                requestKeyframe: { request in
                    bound.perform { $0.value?.ask { $0.requestKeyframe(request, now: MonotonicClock.now) } }
                })
        } catch {
            throw EndReason(.failed, "cannot prepare to receive: \(error.message)", remedy: error.remedy)
        }
        let forwarding = sink as? any ForwardingSink
        forwarding?.begin(
            limitBitrate: { limit in bound.perform { $0.value?.ask { $0.limitBitrate(limit) } } },
            receivedBytes: { bound.assumeIsolated { $0.value?.connection?.receivedBytes } ?? 0 })
        hasToldTooLong = false
        // The sender begins with what came since its last key frame.
        decryption?.beginSession()
        let receiver = MediaReceiver(
            parameters(remote), seed: UInt64.random(in: .min ... .max), ntpEpoch: WallClock.now(),
            forwarded: forwarding?.forwarded?.assumeIsolated { $0 }, now: MonotonicClock.now)
        connection?.begin(remote, receiver: receiver)
    }

    private func parameters(_ remote: some RemoteDescription) -> ReceiverParameters {
        ReceiverParameters(
            video: remote.video.first.map {
                VideoStreamParameters(
                    ssrc: $0.ssrc ?? 0, codec: $0.codec, payloadType: $0.payloadType, rtxSSRC: $0.rtxSSRC,
                    rtxPayloadType: $0.rtxPayloadType, mid: $0.mid)
            },
            audio: remote.audio.map {
                AudioStreamParameters(
                    ssrc: $0.ssrc ?? 0, payloadType: $0.payloadType, redundantPayloadType: $0.redundantPayloadType,
                    mid: $0.mid)
            },
            extensions: remote.extensions, cname: String(UInt64.random(in: .min ... .max), radix: 36),
            localSSRC: UInt32.random(in: 1...UInt32.max),
            usesTransportFeedback: remote.feedback.contains(.transportWide),
            sendsREMB: remote.feedback.contains(.remb), packetCapacity: packetCapacity)
    }

    /// No frame is returned before the next key frame.
    func requestKeyframe() { ask { $0.requestKeyframe(now: MonotonicClock.now) } }

    private func ask(_ body: (MediaReceiver) -> Void) {
        guard let connection, let receiver = connection.receiver else { return }
        body(receiver)
        connection.pump()
    }

    // MARK: Ending

    /// - Parameter done: called on the loop when all sockets and the sink are closed.
    package func close(_ done: @escaping () -> Void) {
        guard !isClosed else { return done() }
        isClosed = true
        // The sink closes on its own threads; the loop does not block on them.
        var closings: [(@escaping () -> Void) -> Void] = [
            { [sink, loop] done in
                let bound = LoopBound(loop, done)
                sink.close { bound.perform { $0() } }
            }
        ]
        for connection in retired + (connection.map { [$0] } ?? []) { closings.append { connection.close($0) } }
        closeAll(closings, with: { $0($1) }, then: done)
    }
}

extension EncodedMediaFormat {
    /// Of a sender's offer or answer.
    package init(_ remote: some RemoteDescription) {
        self.init(
            video: remote.video.first?.codec, videoParameters: remote.video.first?.formatParameters,
            audio: remote.audio.map(\.kind))
    }
}
