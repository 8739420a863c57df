import MediaCore
import MediaEngine
import RTPWire
import SRTPTransport
import TestSupport
import Testing

/// A sender and a receiver that negotiated no RTX, connected by real SRTP, in virtual time.
@Suite struct RetransmissionTests {
    private final class Call {
        let sender: MediaSender
        let receiver: MediaReceiver
        let host: SRTPSession
        let viewer: SRTPSession
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 1_536, alignment: 64)
        var now = MediaInstant(nanoseconds: 1_000_000_000_000)
        var random: SeededGenerator
        /// The one-way delay.
        let delay = MediaDuration.milliseconds(30)
        var toViewer: [(at: MediaInstant, bytes: [UInt8])] = []
        var toHost: [(at: MediaInstant, bytes: [UInt8])] = []
        var lost = 0
        var refused = 0
        var pictures: [MediaInstant] = []
        var longest = MediaDuration.zero
        var captured: [MediaInstant] = []

        init(_ profile: SRTPProfile, seed: UInt64) throws {
            (host, viewer) = try SRTPSessionTests.pair(profile)
            random = SeededGenerator(seed: seed)
            let video = VideoStreamParameters(ssrc: 0x1111, payloadType: 96, mid: "0")
            let extensions: HeaderExtensionMap = [.transportSequence: 3, .playoutDelay: 4, .absSendTime: 2, .mid: 1]
            let epoch = NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0)
            sender = MediaSender(
                SenderParameters(
                    video: video, audio: [], extensions: extensions, cname: "host", startBitrate: .kilobits(4_000),
                    maximumBitrate: .kilobits(8_000), usesTransportFeedback: true), seed: seed, ntpEpoch: epoch,
                now: now)
            receiver = MediaReceiver(
                ReceiverParameters(
                    video: video, audio: [], extensions: extensions, cname: "viewer", localSSRC: 0x4444,
                    usesTransportFeedback: true), seed: seed, ntpEpoch: epoch, now: now)
        }

        deinit { memory.deallocate() }

        /// Advances the time by one millisecond.
        func step() {
            now = now + .milliseconds(1)
            while let first = toViewer.first, first.at <= now {
                toViewer.removeFirst()
                memory.copyMemory(from: first.bytes, byteCount: first.bytes.count)
                let isControl = first.bytes[1] >= 200 && first.bytes[1] <= 207
                do throws(SRTPFailure) {
                    let length =
                        isControl
                        ? try viewer.unprotectRTCP(memory, length: first.bytes.count)
                        : try viewer.unprotectRTP(memory, length: first.bytes.count)
                    let packet = UnsafeRawBufferPointer(start: memory, count: length)
                    if isControl { receiver.handleRTCP(packet, now: now) } else { receiver.handleRTP(packet, now: now) }
                } catch {
                    // A packet that arrives twice is a replay.
                    if error != .replay { refused += 1 }
                }
                drainReceiver()
            }
            while let first = toHost.first, first.at <= now {
                toHost.removeFirst()
                first.bytes.withUnsafeBytes { sender.handleRTCP($0, now: now) }
            }
            drainSender()
            drainReceiver()
        }

        func frame(_ bytes: Int, isKeyframe: Bool) {
            var frame = [UInt8](repeating: 7, count: bytes)
            let start: [UInt8] = [isKeyframe ? 0x10 : 0x11, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 0x07, 0x38, 0x04]
            frame.replaceSubrange(0..<start.count, with: start)
            captured.append(now)
            frame.withUnsafeBytes {
                sender.handleFrame($0, FrameInfo(of: $0, isKeyframe: isKeyframe, captured: now), now: now)
            }
        }

        private func drainSender() {
            let buffer = UnsafeMutableRawBufferPointer(start: memory, count: 1_500)
            while true {
                switch sender.poll(now: now, into: buffer) {
                case .rtp(let length):
                    guard let length = try? host.protectRTP(memory, length: length) else {
                        refused += 1
                        continue
                    }
                    let packet = UnsafeRawBufferPointer(start: memory, count: length)
                    sender.keepProtected(packet)
                    send(packet)
                case .protected(let length): send(UnsafeRawBufferPointer(start: memory, count: length))
                case .rtcp(let length):
                    guard let length = try? host.protectRTCP(memory, length: length) else { return refused += 1 }
                    send(UnsafeRawBufferPointer(start: memory, count: length))
                case .event: break
                case .wait: return
                }
            }
        }

        private func send(_ packet: UnsafeRawBufferPointer) {
            guard !random.chance(3) else { return lost += 1 }
            toViewer.append((now + delay, Array(packet)))
        }

        private func drainReceiver() {
            let buffer = UnsafeMutableRawBufferPointer(start: memory, count: 1_500)
            while true {
                switch receiver.poll(now: now, into: buffer) {
                case .rtcp(let length): toHost.append((now + delay, Array(buffer[0..<length])))
                case .frame:
                    longest = max(longest, now - captured[pictures.count])
                    pictures.append(now)
                case .audio, .event: break
                case .wait: return
                }
            }
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func lossesAreRepairedWithinTwoRoundTripsAndNothingIsRefused(profile: SRTPProfile) throws {
        let call = try Call(profile, seed: 5)
        for millisecond in 0..<10_000 {
            if millisecond % 33 == 0 { call.frame(8_000, isKeyframe: millisecond == 0) }
            call.step()
        }
        for _ in 0..<200 { call.step() }
        print(profile, "lost", call.lost, call.longest.inMilliseconds)
        #expect(call.lost > 40 && call.refused == 0)
        #expect(call.pictures.count == call.captured.count)
        // The receiver notices a gap when the next frame arrives.
        #expect(call.longest <= .milliseconds(30 + 33 + 2 * 60 + 5))
        #expect(call.receiver.statistics.requests.keyframes == 0 && call.sender.statistics.video.keyframes == 1)
    }
}
