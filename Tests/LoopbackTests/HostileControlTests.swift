import EventLoop
import Glibc
import ICETransport
import LinuxRuntime
import MediaCore
import SessionDescription
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import HTTP
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// An admitted viewer sends RTCP that claims large counts in few bytes, beside a viewer that only watches.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct HostileControlTests {
    /// 30 times 65,535 "lost" in a datagram, 100 times a second: 1 Mbit/s. Each datagram costs the network thread next
    /// to nothing.
    @Test func claimsOfManyLostPacketsDelayNoOtherViewer() async throws {
        let host = try silentHost(TestVideoSource(framesPerSecond: 30))
        let link = try await host.start()
        let seen = RecordedOutput()
        let watching = try watcher(link, seen)
        let task = Task { await watching.run() }
        #expect(await seen.wait { $0.counters.count >= 5 })

        let client = try SignalingClient(link: link)
        let hostile = try await HostileViewer.join(client, link)
        #expect(await waiting(hostile.sent) { $0 >= 50 ? true : nil } ?? false)
        let bad = try #require(await host.statistics()).sent.badPackets
        let before = (pictures: seen.state.counters.count, sent: hostile.sent.with { $0 }, ticks: Self.networkTicks())
        #expect(await seen.wait { $0.counters.count >= before.pictures + 100 })
        let sent = hostile.sent.with { $0 } - before.sent
        let times = seen.state.times.dropFirst(before.pictures)
        let gap = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .zero
        print(
            "hostile RTCP:", sent, "datagrams,", Self.networkTicks() - before.ticks, "ticks of the network threads,",
            "longest gap of the other viewer", gap.nanoseconds / 1_000_000, "ms")
        #expect(sent >= 100)
        // All sent packets were authentic.
        #expect(try #require(await host.statistics()).sent.badPackets == bad)

        await hostile.close()
        await client.leave()
        await client.close()
        watching.leave()
        #expect(await task.value.code == .stopped)
        await host.stop(EndReason(.stopped, "done"))
    }

    /// The processor time of the threads named net-0, the host's and the viewer's, in 1/100 s.
    private static func networkTicks() -> Int {
        guard let folder = opendir("/proc/self/task") else { return 0 }
        defer { closedir(folder) }
        var ticks = 0
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let file = fopen("/proc/self/task/\(name)/stat", "r") else { continue }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 512)
            guard fgets(&line, 512, file) != nil else { continue }
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let fields = text.split(separator: " ")
            guard text.contains("(net-0)"), fields.count > 14 else { continue }
            ticks += (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
        }
        return ticks
    }
}

/// A viewer's ICE, DTLS and SRTP with a timer that sends the same RTCP repeatedly.
private struct HostileViewer {
    private let loop: EventLoop
    private let core: LoopBound<Core?>
    let sent: Monitor<Int>

    static func join(_ client: SignalingClient, _ link: Link) async throws -> HostileViewer {
        let identity = try Identity.ephemeral()
        let fingerprint = try #require(Fingerprint(sha256: identity.fingerprint))
        let token = try await admissionToken(for: identity, named: "hostile", from: client)
        let loop = EventLoop(name: "hostile")
        let sent = Monitor(0)
        let gathered = Monitor(false)
        let core = LoopBound(loop, making: { try? Core(loop, identity, expected: link.fingerprint, sent, gathered) })
        #expect(await waiting(gathered) { $0 ? true : nil } ?? false)
        let found = await core.ifRunning { core in
            core.map { ($0.path.localCredentials, $0.path.localCandidates) }
        }
        let (credentials, candidates) = try #require(found ?? nil)
        let offer = LocalDescription(
            credentials: credentials, fingerprint: fingerprint, candidates: candidates, endsCandidates: true
        ).offer(MediaCapabilities(direction: .receiveOnly, audioSections: 0))
        let answer = try Answer(try await client.offer(offer, token: token).sdp, to: .receiving())
        core.perform { $0?.begin(answer) }
        return HostileViewer(loop: loop, core: core, sent: sent)
    }

    func close() async {
        await core.performAndWait { core, done in core.map { $0.close(done) } ?? done() }
        await loop.stop()
    }

    /// Confined to the loop.
    private final class Core: SecureTransportDelegate, LocalCandidateDelegate {
        let path: ICEPath
        let transport: SecureTransport
        private var timer: LoopTimer?
        private var datagram: [UInt8] = []
        private let sent: Monitor<Int>
        private let gathered: Monitor<Bool>

        init(
            _ loop: EventLoop, _ identity: Identity, expected: [UInt8], _ sent: Monitor<Int>,
            _ gathered: Monitor<Bool>
        ) throws {
            self.sent = sent
            self.gathered = gathered
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
            let ssrc = answer.video.first?.ssrc ?? 0
            // Eight runs of 8,191 lost packets, and one of 7.
            var message: [UInt8] = [0x8F, 205, 0, 9, 0, 0, 0, 9]
            message += (0..<4).map { UInt8(truncatingIfNeeded: ssrc >> (24 - 8 * UInt32($0))) }
            message += [0, 1, 0xFF, 0xFF, 0, 0, 0, 0]
            for _ in 0..<8 { message += [0x1F, 0xFF] }
            message += [0, 7, 0, 0]
            datagram = Array(repeating: message, count: 1_200 / message.count).flatMap { $0 }
            transport.expect(answer.fingerprints)
            path.start(remote: answer.credentials)
            path.add(answer.candidates, ended: answer.endsCandidates)
        }

        private func send() {
            transport.slot.copyBytes(from: datagram)
            transport.sendControl(datagram.count)
            transport.flush()
            sent.change { $0 += 1 }
            timer?.set(MonotonicClock.now + .milliseconds(10))
        }

        func close(_ done: @escaping () -> Void) {
            timer?.close()
            transport.close(done)
        }

        func found(_ candidate: ICECandidate) {}
        func finishedGathering() { gathered.change { $0 = true } }
        func transportIsSecure(profile: SRTPProfile) { send() }
        func transportSelectedNewPair() {}
        func transportEnded(_ reason: EndReason) { timer?.close() }
        func transportReceivedCloseNotify() { timer?.close() }
        func transportMissesPeer() {}
        func transport(received rtp: UnsafeRawBufferPointer, at arrival: MediaInstant) {}
        func transport(receivedControl rtcp: UnsafeRawBufferPointer) {}
    }
}
