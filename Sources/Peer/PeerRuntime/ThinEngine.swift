import MediaCore
import RTPWire

struct VideoStreamParameters: Sendable {
    public var ssrc: UInt32
    public var payloadType: UInt8
    public var rtxSSRC: UInt32?
    public var rtxPayloadType: UInt8?
    public var mid: String
    public init(ssrc: UInt32, payloadType: UInt8, rtxSSRC: UInt32?, rtxPayloadType: UInt8?, mid: String) {
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.rtxSSRC = rtxSSRC
        self.rtxPayloadType = rtxPayloadType
        self.mid = mid
    }
}

struct AudioStreamParameters: Sendable {
    public var ssrc: UInt32
    public var payloadType: UInt8
    public var mid: String
    public init(ssrc: UInt32, payloadType: UInt8, mid: String) {
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.mid = mid
    }
}

struct SenderParameters: Sendable {
    public var video: VideoStreamParameters?
    public var audio: [AudioStreamParameters]
    public var extensions: HeaderExtensionIDs
    public var cname: String
    public var maximumPacketSize: Int
    public var startBitrate: Bitrate
    public var maximumBitrate: Bitrate
    public var hasTransportFeedback: Bool
    public init(
        video: VideoStreamParameters?, audio: [AudioStreamParameters], extensions: HeaderExtensionIDs, cname: String,
        maximumPacketSize: Int = 1_200, startBitrate: Bitrate, maximumBitrate: Bitrate, hasTransportFeedback: Bool
    ) {
        self.video = video
        self.audio = audio
        self.extensions = extensions
        self.cname = cname
        self.maximumPacketSize = maximumPacketSize
        self.startBitrate = startBitrate
        self.maximumBitrate = maximumBitrate
        self.hasTransportFeedback = hasTransportFeedback
    }
}

struct ReceiverParameters: Sendable {
    public var video: VideoStreamParameters?
    public var audio: [AudioStreamParameters]
    public var extensions: HeaderExtensionIDs
    public var cname: String
    public var localSSRC: UInt32
    public var hasTransportFeedback: Bool
    public init(
        video: VideoStreamParameters?, audio: [AudioStreamParameters], extensions: HeaderExtensionIDs, cname: String,
        localSSRC: UInt32, hasTransportFeedback: Bool
    ) {
        self.video = video
        self.audio = audio
        self.extensions = extensions
        self.cname = cname
        self.localSSRC = localSSRC
        self.hasTransportFeedback = hasTransportFeedback
    }
}

enum SenderEvent: Sendable { case keyframeNeeded, estimateChanged(Bitrate) }
enum WakeReason: Sendable { case report, nothing }
enum SenderOutput { case rtp(Int), rtcp(Int), event(SenderEvent), wait(until: MediaInstant, WakeReason) }
enum SenderLimit: Sendable {
    case nothing, bandwidth, loss
}
struct SenderStatistics: Sendable {
    public var packetsSent = 0
    public var bytesSent = 0
    public var retransmissions = 0
    public var fractionLost = 0.0
}

final class MediaSender {
    private struct Queued {
        var bytes: [UInt8]
    }
    private let parameters: SenderParameters
    private let epoch: (ntp: NTPTimestamp, at: MediaInstant)
    private var queue: [[UInt8]] = []
    private var events: [SenderEvent] = []
    private var nextReport: MediaInstant
    private var videoSequence = SequenceNumber(1)
    private var audioSequence = [SequenceNumber(1), SequenceNumber(1)]
    private var pictureID: UInt16 = 0
    private var transport = SequenceNumber(0)
    private var ended = false
    public var statistics = SenderStatistics()
    public var estimate: Bitrate
    public var roundTripTime: MediaDuration?
    public var backlog: MediaDuration { .zero }
    public var limit: SenderLimit { .nothing }

    public init(_ parameters: SenderParameters, seed: UInt64, ntpEpoch: NTPTimestamp, now: MediaInstant) {
        self.parameters = parameters
        epoch = (ntpEpoch, now)
        nextReport = now
        estimate = parameters.maximumBitrate
    }

    private func timestamp(_ at: MediaInstant, _ rate: Int64) -> RTPTimestamp {
        RTPTimestamp(rawValue: UInt32(truncatingIfNeeded: at.nanoseconds / 1_000 * rate / 1_000_000))
    }

    public func handleFrame(
        _ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, layer: UInt8, captured: MediaInstant, now: MediaInstant
    ) {
        guard let video = parameters.video else { return }
        let chunk = 1_100
        var at = 0
        pictureID = (pictureID + 1) & 0x7fff
        while at < bytes.count {
            let count = min(chunk, bytes.count - at)
            var packet = [UInt8](repeating: 0, count: 1_400)
            let length = packet.withUnsafeMutableBytes { buffer -> Int in
                let layout = try? RTPPacketLayout.write(
                    RTPHeader(
                        marker: at + count == bytes.count, payloadType: video.payloadType, sequenceNumber: videoSequence,
                        timestamp: timestamp(captured, 90_000), ssrc: video.ssrc),
                    extensions: OutgoingExtensions(transportSequence: transport, playoutDelay: .zero, absSendTime: nil, mid: video.mid),
                    ids: parameters.extensions, into: buffer)
                guard let layout else { return 0 }
                var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: buffer[layout.headerLength...]))
                let descriptor = VP8PayloadDescriptor(
                    isNonReference: false, isPartitionStart: at == 0, partitionIndex: 0, pictureID: pictureID,
                    isPictureIDLong: true, baseLayerIndex: nil, temporalLayer: nil, isLayerSync: false, keyIndex: nil)
                guard (try? descriptor.write(into: &writer)) != nil,
                    (try? writer.write(UnsafeRawBufferPointer(rebasing: bytes[at..<(at + count)]))) != nil
                else { return 0 }
                return layout.headerLength + writer.position
            }
            queue.append(Array(packet[..<length]))
            videoSequence = videoSequence.next
            transport = transport.next
            at += count
        }
    }

    public func handleAudio(_ bytes: UnsafeRawBufferPointer, track: Int, captured: MediaInstant, now: MediaInstant) {
        guard track < parameters.audio.count else { return }
        let audio = parameters.audio[track]
        var packet = [UInt8](repeating: 0, count: 1_400)
        let length = packet.withUnsafeMutableBytes { buffer -> Int in
            guard
                let layout = try? RTPPacketLayout.write(
                    RTPHeader(
                        marker: false, payloadType: audio.payloadType, sequenceNumber: audioSequence[track],
                        timestamp: timestamp(captured, 48_000), ssrc: audio.ssrc),
                    extensions: OutgoingExtensions(transportSequence: transport, playoutDelay: nil, absSendTime: nil, mid: audio.mid),
                    ids: parameters.extensions, into: buffer)
            else { return 0 }
            UnsafeMutableRawBufferPointer(rebasing: buffer[layout.headerLength...]).copyMemory(from: bytes)
            return layout.headerLength + bytes.count
        }
        audioSequence[track] = audioSequence[track].next
        transport = transport.next
        queue.append(Array(packet[..<length]))
    }

    public func handleRTCP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        var iterator = RTCPIterator(bytes)
        while true {
            guard let packet = try? iterator.next() else { return }
            switch packet {
            case .pictureLoss, .fullIntraRequest: events.append(.keyframeNeeded)
            default: break
            }
        }
    }

    public func end(now: MediaInstant) { ended = true }

    public func poll(now: MediaInstant, into buffer: UnsafeMutableRawBufferPointer) -> SenderOutput {
        if ended {
            ended = false
            var writer = ByteWriter(buffer)
            if let video = parameters.video, (try? Goodbye.write(ssrc: video.ssrc, into: &writer)) != nil {
                return .rtcp(writer.position)
            }
        }
        if !events.isEmpty { return .event(events.removeFirst()) }
        if !queue.isEmpty {
            let packet = queue.removeFirst()
            packet.withUnsafeBytes { buffer.copyMemory(from: $0) }
            statistics.packetsSent += 1
            statistics.bytesSent += packet.count
            return .rtp(packet.count)
        }
        if now >= nextReport, let video = parameters.video {
            nextReport = now + .seconds(1)
            var writer = ByteWriter(buffer)
            let info = SenderInfo(
                ssrc: video.ssrc, ntp: epoch.ntp.advanced(by: now - epoch.at), rtpTimestamp: timestamp(now, 90_000),
                packetCount: UInt32(statistics.packetsSent), octetCount: UInt32(statistics.bytesSent))
            if (try? info.write(into: &writer)) != nil,
                (try? SourceDescription.write(ssrc: video.ssrc, cname: parameters.cname, into: &writer)) != nil
            {
                return .rtcp(writer.position)
            }
        }
        return .wait(until: nextReport, .report)
    }
}

struct ReceivedFrame: Sendable {
    public var isKeyframe: Bool
    public var captured: NTPTimestamp?
}
struct ReceivedAudio: Sendable {
    public var track: Int
}
enum ReceiverEvent: Sendable { case bye, other }
enum ReceiverOutput {
    case rtcp(Int)
    case frame(UnsafeRawBufferPointer, ReceivedFrame)
    case audio(UnsafeRawBufferPointer?, ReceivedAudio)
    case event(ReceiverEvent)
    case wait(until: MediaInstant, WakeReason)
}
struct ReceiverStatistics: Sendable {
    public var packets = 0
    public var bytes = 0
    public var lost = 0
    public var nacks = 0
    public var keyframeRequests = 0
}

final class MediaReceiver {
    private let parameters: ReceiverParameters
    private var building: [UInt8] = []
    private var started = false
    private var expected: SequenceNumber?
    private var ready: [([UInt8], ReceivedFrame)] = []
    private var sound: [([UInt8], Int)] = []
    private var current: [UInt8] = []
    private var wantsKeyframe = false
    private var saidBye = false
    private var nextReport: MediaInstant
    private var mapping: (ntp: NTPTimestamp, rtp: RTPTimestamp)?
    public var statistics = ReceiverStatistics()
    public var roundTripTime: MediaDuration?

    public init(_ parameters: ReceiverParameters, seed: UInt64, ntpEpoch: NTPTimestamp, now: MediaInstant) {
        self.parameters = parameters
        nextReport = now
    }

    public func handleRTP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        guard let view = try? RTPPacketView(bytes) else { return }
        statistics.packets += 1
        statistics.bytes += bytes.count
        if let track = parameters.audio.firstIndex(where: { $0.ssrc == view.ssrc }) {
            sound.append((Array(view.payload), track))
            return
        }
        guard view.ssrc == parameters.video?.ssrc, let (descriptor, data) = try? VP8PayloadDescriptor.parse(view.payload)
        else { return }
        if let expected, expected != view.sequenceNumber {
            started = false
            wantsKeyframe = true
        }
        expected = view.sequenceNumber.next
        if descriptor.isFrameStart {
            building.removeAll(keepingCapacity: true)
            let header = try? VP8FrameHeader(data)
            if header?.isKeyframe == true { started = true }
        }
        guard started else { return }
        building.append(contentsOf: data)
        if view.marker {
            let isKey = building.first.map { $0 & 1 == 0 } ?? false
            let captured = mapping.map { mapping in
                mapping.ntp.advanced(
                    by: .microseconds(
                        Int(Int32(bitPattern: view.timestamp.rawValue &- mapping.rtp.rawValue)) * 1_000_000 / 90_000))
            }
            ready.append((building, ReceivedFrame(isKeyframe: isKey, captured: captured)))
        }
    }

    public func handleRTCP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        var iterator = RTCPIterator(bytes)
        while true {
            guard let packet = try? iterator.next() else { return }
            switch packet {
            case .goodbye: saidBye = true
            case .senderReport(let report): mapping = (report.info.ntp, report.info.rtpTimestamp)
            default: break
            }
        }
    }

    public func requestKeyframe(now: MediaInstant) { wantsKeyframe = true }

    public func poll(now: MediaInstant, into buffer: UnsafeMutableRawBufferPointer) -> ReceiverOutput {
        if !ready.isEmpty {
            let (bytes, info) = ready.removeFirst()
            current = bytes
            return .frame(current.withUnsafeBytes { $0 }, info)
        }
        if !sound.isEmpty {
            let (bytes, track) = sound.removeFirst()
            current = bytes
            return .audio(current.withUnsafeBytes { $0 }, ReceivedAudio(track: track))
        }
        if saidBye {
            saidBye = false
            return .event(.bye)
        }
        if now >= nextReport || wantsKeyframe, let video = parameters.video {
            nextReport = now + .seconds(1)
            var writer = ByteWriter(buffer)
            _ = try? ReceiverReport.write(ssrc: parameters.localSSRC, into: &writer)
            if wantsKeyframe {
                wantsKeyframe = false
                statistics.keyframeRequests += 1
                try? PictureLossIndication(senderSSRC: parameters.localSSRC, mediaSSRC: video.ssrc).write(into: &writer)
            }
            return .rtcp(writer.position)
        }
        return .wait(until: nextReport, .report)
    }
}
