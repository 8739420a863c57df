import MediaCore
import MediaEngine
import RTPWire
import Testing

/// The packets that a sender sends before the first video frame.
@Suite struct FirstPacketTests {
    /// Firefox 153 took the RTX stream for the video when padding came first, and never showed a frame.
    @Test func noProbeAndNoRetransmissionPrecedesTheFirstFrame() {
        let start = MediaInstant(nanoseconds: 1_000_000_000)
        let sender = MediaSender(
            SenderParameters(
                video: VideoStreamParameters(ssrc: 1, payloadType: 96, rtxSSRC: 2, rtxPayloadType: 97, mid: "0"),
                audio: [],
                extensions: [.transportSequence: 1, .playoutDelay: 2, .absSendTime: 3, .mid: 4],
                cname: "c",
                startBitrate: .kilobits(2_500), maximumBitrate: .kilobits(8_000), usesTransportFeedback: true), seed: 1,
            ntpEpoch: NTPTimestamp(seconds: 1, fraction: 0), now: start)
        var ssrcs: [UInt32] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_500, alignment: 16)
        defer { buffer.deallocate() }
        func drain(until end: MediaInstant, from begin: MediaInstant) {
            var now = begin
            while now < end {
                switch sender.poll(now: now, into: buffer) {
                case .rtp(let length), .protected(let length):
                    let packet = UnsafeRawBufferPointer(rebasing: buffer[..<length])
                    if let view = try? RTPPacketView(packet) { ssrcs.append(view.ssrc) }
                case .rtcp, .event: break
                case .wait(let deadline, _): now = max(min(deadline, end), now + .milliseconds(1))
                }
            }
        }
        drain(until: start + .milliseconds(30), from: start)
        #expect(ssrcs.isEmpty)
        let frame = [UInt8](repeating: 7, count: 3_000)
        let later = start + .milliseconds(30)
        frame.withUnsafeBytes {
            sender.handleFrame($0, FrameInfo(of: $0, isKeyframe: true, captured: later), now: later)
        }
        drain(until: later + .milliseconds(300), from: later)
        #expect(ssrcs.first == 1)
        #expect(ssrcs.contains(2), "no probe was sent, so the test shows nothing")
    }

    /// 78 kB at an estimate of 2.5 Mbit/s, as a first key frame has them.
    @Test func onThisMachineTheFirstFrameIsNotPaced() {
        let start = MediaInstant(nanoseconds: 1_000_000_000)
        func duration(isLocal: Bool) -> MediaDuration {
            let sender = MediaSender(
                SenderParameters(
                    video: VideoStreamParameters(ssrc: 1, payloadType: 96, mid: "0"), audio: [],
                    extensions: [.transportSequence: 1], cname: "c", startBitrate: .kilobits(2_500),
                    maximumBitrate: .kilobits(8_000), usesTransportFeedback: true), seed: 1,
                ntpEpoch: NTPTimestamp(seconds: 1, fraction: 0), now: start)
            if isLocal { sender.startUnpaced() }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_500, alignment: 16)
            defer { buffer.deallocate() }
            [UInt8](repeating: 7, count: 78_000).withUnsafeBytes {
                sender.handleFrame($0, FrameInfo(of: $0, isKeyframe: true, captured: start), now: start)
            }
            var (now, packets, together) = (start, 0, 0)
            while sender.hasFramesWaiting {
                switch sender.poll(now: now, into: buffer) {
                case .rtp, .protected:
                    packets += 1
                    if now == start { together += 1 }
                case .rtcp, .event: break
                case .wait(let deadline, _): now = max(deadline, now + .microseconds(100))
                }
            }
            #expect(together <= 32, "a socket's buffer takes no more")
            #expect(packets > 60)
            return now - start
        }
        #expect(duration(isLocal: true) < .milliseconds(6))
        #expect(duration(isLocal: false) > .milliseconds(40))
    }
}
