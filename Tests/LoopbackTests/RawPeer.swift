import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import SessionDescription

@testable import Host
@testable import Identity
@testable import PeerConnection

/// ICE, DTLS and SRTP of an offerer that sends a packet each 20 ms if there is one, and no RTCP. Confined to the loop.
final class RawPeer: SecureTransportDelegate, LocalCandidateDelegate {
    let path: ICEPath
    let transport: SecureTransport
    private let packets: Monitor<Int>
    private let gathered: Monitor<Bool>
    private var timer: LoopTimer?
    /// Makes the next packet.
    var next: (() -> [UInt8])?

    /// - Parameter packets: counts the RTP packets that come.
    init(
        _ loop: EventLoop, _ identity: Identity, _ expected: [UInt8], _ packets: Monitor<Int>,
        _ gathered: Monitor<Bool>
    ) throws {
        (self.packets, self.gathered) = (packets, gathered)
        path = try ICEPath(
            loop: loop,
            configuration: .init(isControlling: true, stunServers: [], turnServers: [], includesLoopback: true),
            limits: .init(policy: CandidatePolicy(.loopback)))
        transport = try SecureTransport(
            loop: loop, isServer: false, identity: identity, expectedFingerprint: expected, path: path)
        transport.delegate = self
        path.candidateDelegate = self
        let box = WeakBox(self)
        timer = loop.makeTimer { box.value?.send() }
        try path.gather()
    }

    func begin(_ answer: Answer) {
        path.start(remote: answer.credentials)
        path.add(answer.candidates, ended: answer.endsCandidates)
    }

    private func send() {
        timer?.set(MonotonicClock.now + .milliseconds(20))
        guard let packet = next?() else { return }
        transport.slot.copyBytes(from: packet)
        transport.sendMedia(packet.count)
        transport.flush()
    }

    func close(_ done: @escaping () -> Void) {
        timer?.close()
        transport.close(done)
    }

    func found(_ candidate: ICECandidate) {}
    func finishedGathering() { gathered.change { $0 = true } }
    func transportIsSecure(profile: SRTPProfile) { send() }
    func transportSelectedNewPair() {}
    func transportEnded(_ reason: EndReason) {}
    func transportReceivedCloseNotify() {}
    func transportMissesPeer() {}
    func transport(received rtp: UnsafeRawBufferPointer, at arrival: MediaInstant) { packets.change { $0 += 1 } }
    func transport(receivedControl rtcp: UnsafeRawBufferPointer) {}
}
