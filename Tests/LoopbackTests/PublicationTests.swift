import EventLoop
import ICETransport
import LinuxRuntime
import MediaCore
import MediaEngine
import SessionDescription
import TestSource
import Testing
import VPXCodec
import Wording

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// A broadcast that its host offers (WHIP) to a peer that answers, over real ICE, DTLS and SRTP, without HTTP.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct PublicationTests {
    /// The sending side: a broadcast of the test video.
    final class Publisher: Sendable {
        let identity: Identity
        let core: LoopBound<Broadcast>
        /// Whether the encoders were told of viewers that are connecting.
        let told: Monitor<[Bool]>
        private let loop = EventLoop(name: "net-0")
        private let video: VideoPipeline
        private let wakeup: LoopBound<MediaWakeups>

        init() throws {
            let identity = try Identity.ephemeral()
            self.identity = identity
            let loop = loop
            let frames = FrameQueues()
            let video = VideoPipeline(
                source: TestVideoSource(framesPerSecond: 30), encoder: VP8Encoder(),
                limits: .init(framesPerSecond: 30, contentHint: nil), bitrate: .kilobits(4_000), frames: frames,
                clock: { MonotonicClock.now })
            self.video = video
            let packets = FrameQueue<AudioPacketInfo>(capacity: 4, bytes: 1_500)
            let media = NotedMedia(MediaPipelines(frames: frames, packets: packets, video: video, audio: []))
            told = media.told
            let settings = Broadcast.Settings(
                identity: identity, maximumBitrate: .kilobits(4_000), audio: [], viewers: ViewerPolicy(maximum: 1))
            let core = LoopBound(loop, making: { Broadcast(loop: loop, settings: settings, source: media) })
            self.core = core
            wakeup = LoopBound(of: core)
            let ready = wakeup.read { $0.video }
            video.start(framesReady: { ready.signal() }, failed: { _ in })
        }

        func offer(to fingerprint: [UInt8]) async throws -> LocalOffer {
            let receiver = Viewer(
                knock: nil, name: "service", kind: "service", address: "127.0.0.1", fingerprint: fingerprint)
            return try await withCheckedContinuation { continuation in
                core.perform { broadcast in
                    broadcast.offer(to: receiver, timeout: .milliseconds(500)) { continuation.resume(returning: $0) }
                }
            }.get()
        }

        /// Answers a viewer's offer.
        func answer(_ offer: String, of viewer: Identity) async throws -> String {
            let viewer = Viewer(
                knock: nil, name: "viewer", kind: "viewer", address: "127.0.0.1", fingerprint: viewer.fingerprint)
            return try await withCheckedContinuation { continuation in
                core.perform { broadcast in
                    broadcast.open(offer: offer, viewer: viewer, words: "") { continuation.resume(returning: $0) }
                }
            }.get().answer
        }

        /// Applies the answer; returns why it cannot be used.
        func begin(_ id: SessionID, _ answer: String) async -> EndReason? {
            await core.ifRunning { broadcast -> EndReason? in
                do throws(EndReason) {
                    try broadcast.begin(id, answer: answer)
                    return nil
                } catch {
                    return error
                }
            } ?? nil
        }

        /// Ends without a word, and sends nothing more.
        func crash() async {
            await loop.stop()
            await video.stop()
        }

        func close() async {
            await video.stop()
            await core.performAndWait { $0.end($1) }
            await wakeup.ifRunning { $0.close() }
            await loop.stop()
        }
    }

    /// The receiving side, which answers, or offers.
    final class Receiver: Sendable {
        let identity: Identity
        let seen = RecordedOutput()
        let warnings = Monitor<[String]>([])
        let outcome = OneShot<EndReason>()
        let core: LoopBound<ReceiveStream>
        private let loop = EventLoop(name: "net-1")
        private let socket = Monitor<LoopBound<ICELiteSocket>?>(nil)

        init() throws {
            identity = try .ephemeral()
            let (loop, sink, outcome, warnings) = (loop, playback(seen, speaker: nil), outcome, warnings)
            core = LoopBound(
                loop,
                making: {
                    ReceiveStream(loop: loop, sink: sink) { event in
                        switch event {
                        case .notice(let notice): warnings.change { $0.append(notice.words.sentence) }
                        case .ended(let reason): outcome.fulfil(reason)
                        case .connected, .interrupted, .resumed, .keysNeeded: break
                        }
                    }
                })
        }

        func answer(_ text: String, through socket: LoopBound<ICELiteSocket>? = nil) async throws -> String {
            let offer = try Offer(text, for: .receiving())
            let connection = try await open(as: .answerer, expected: offer.fingerprint.bytes, socket)
            await begin(offer)
            return try #require(await connection.receiverCandidates().description).answer(to: offer)
        }

        func offer(to fingerprint: [UInt8]) async throws -> String {
            let connection = try await open(as: .offerer, expected: fingerprint, nil)
            return try #require(await connection.receiverCandidates().description).offer(.receiving())
        }

        private func begin(_ remote: some RemoteDescription) async {
            await core.ifRunning { [outcome] stream in
                do throws(EndReason) { try stream.begin(remote) } catch { outcome.fulfil(error) }
            }
        }

        func begin(_ text: String) async throws {
            await begin(try Answer(text, to: .receiving()))
        }

        /// A port as relays have it.
        func openSocket() async throws -> LoopBound<ICELiteSocket> {
            let opened = await core.ifRunning { [loop] _ in
                try? LoopBound(loop, ICELiteSocket(loop: loop, addresses: ["127.0.0.1"]))
            }
            let socket = try #require(opened ?? nil)
            self.socket.change { $0 = socket }
            return socket
        }

        private func open(
            as role: NegotiationRole, expected: [UInt8], _ socket: LoopBound<ICELiteSocket>?
        ) async throws -> LoopBound<PeerConnection> {
            var configuration = PeerConnection.Configuration(
                role, identity: identity, fingerprint: expected, place: .loopback,
                repeatsCandidates: role == .answerer, interruptionThreshold: ReceiveStream.interruptionThreshold)
            configuration.socket = socket
            configuration.agent.includesLoopback = true
            let opened = await core.ifRunning { [configuration, loop] stream in
                Result { () throws(EndReason) in LoopBound(loop, try stream.open(configuration)) }
            }
            return try #require(opened).get()
        }

        func close() async {
            await core.performAndWait { $0.close($1) }
            await socket.with({ $0 })?.performAndWait { socket, done in
                socket.close()
                done()
            }
            await loop.stop()
        }
    }

    @Test func anOfferedBroadcastIsReceivedByThePeerThatAnswers() async throws {
        let (publisher, receiver) = (try Publisher(), try Receiver())
        let offer = try await publisher.offer(to: receiver.identity.fingerprint)
        #expect(offer.sdp.contains("a=sendonly") && offer.sdp.contains("a=setup:actpass"))
        let answer = try await receiver.answer(offer.sdp)
        #expect(answer.contains("a=recvonly") && answer.contains("a=setup:passive"))
        #expect(await publisher.begin(offer.id, answer) == nil)
        #expect(await receiver.seen.wait { $0.counters.count >= 30 })
        #expect(publisher.told.with { $0 } == [true, false])
        await publisher.close()
        #expect(await receiver.outcome.value.code == .hostEnded)
        await receiver.close()
    }

    @Test func anAnswerWithAnotherCertificateIsRefused() async throws {
        let (publisher, receiver) = (try Publisher(), try Receiver())
        let offer = try await publisher.offer(to: try Identity.ephemeral().fingerprint)
        let answer = try await receiver.answer(offer.sdp)
        #expect(await publisher.begin(offer.id, answer)?.code == .untrusted)
        // The offer is over: its place is free again.
        let again = try await publisher.offer(to: receiver.identity.fingerprint)
        #expect(await publisher.begin(again.id, try await receiver.answer(again.sdp)) == nil)
        #expect(await receiver.seen.wait { !$0.counters.isEmpty })
        await publisher.close()
        await receiver.close()
    }

    @Test func anOfferThatIsNotAnsweredHoldsAPlaceUntilItIsCancelled() async throws {
        let (publisher, receiver) = (try Publisher(), try Receiver())
        let offer = try await publisher.offer(to: receiver.identity.fingerprint)
        await #expect(throws: OfferRefusal.self) { try await publisher.offer(to: receiver.identity.fingerprint) }
        await publisher.core.ifRunning { $0.cancelOffer(offer.id) }
        _ = try await publisher.offer(to: receiver.identity.fingerprint)
        // An offer that is open at the end is closed with the broadcast.
        await publisher.close()
        await receiver.close()
    }
}

/// Encoded media of this process, and whether viewers are expected.
struct NotedMedia: EncodedMediaSource {
    let told = Monitor<[Bool]>([])
    private let media: MediaPipelines

    init(_ media: MediaPipelines) { self.media = media }

    var frames: FrameQueues { media.frames }
    var packets: FrameQueue<AudioPacketInfo> { media.packets }

    func apply(_ decision: EncoderPolicy.Decision) { media.apply(decision) }
    func requestKeyframe(_ encoding: EncodingID, isFirst: Bool) { media.requestKeyframe(encoding, isFirst: isFirst) }
    func requestRecovery(_ encoding: EncodingID, from number: UInt32) {
        media.requestRecovery(encoding, from: number)
    }
    func setReferences(_ policy: LongTermReferencePolicy, of encoding: EncodingID) {
        media.setReferences(policy, of: encoding)
    }
    func expectViewers(_ target: EncodingTarget?) {
        told.with { $0.append(target != nil) }
        media.expectViewers(target)
    }
}
