import MediaCore
import RTPWire

/// Writes the RTCP of a sender and decides when it is due (compare libwebrtc's `rtcp_sender.cc`): sender reports each
/// second while media flows (RFC 3550 section 6.4.1), REMB and DLRR for our own receivers, and the BYE.
struct RTCPSender {
    private let ntpEpoch: NTPTimestamp
    private let epoch: MediaInstant
    private(set) var nextReport: MediaInstant
    private var lastReport: MediaInstant?
    private(set) var reports = 0
    /// The receiver reference time (RFC 3611 section 4.4) that waits for its answer: SSRC, the middle 32 bits, and when
    /// it came.
    private var receiverTime: (ssrc: UInt32, middle: UInt32, arrival: MediaInstant)?
    private var bye = ByeState.none
    /// Whether the BYE is to be sent, or was sent.
    private enum ByeState { case none, due, sent }

    /// - Parameter ntpEpoch: the wall clock at `now`.
    init(ntpEpoch: NTPTimestamp, now: MediaInstant) {
        self.ntpEpoch = ntpEpoch
        epoch = now
        nextReport = now
    }

    func ntp(at instant: MediaInstant) -> NTPTimestamp { ntpEpoch.advanced(by: instant - epoch) }

    /// Ends the longer report interval of an idle sender.
    mutating func noteActivity(now: MediaInstant) {
        guard let lastReport else { return }
        nextReport = min(nextReport, lastReport + .seconds(1))
    }

    /// A report that is due so soon is written behind packets that are being sent: it costs no system call then.
    private static let opportunity = MediaDuration.milliseconds(250)

    /// Packets are being sent now.
    mutating func noteBurst(now: MediaInstant) {
        if lastReport != nil, nextReport - now < Self.opportunity { nextReport = now }
    }

    mutating func noteReceiverTime(ssrc: UInt32, middle: UInt32, now: MediaInstant) {
        receiverTime = (ssrc, middle, now)
    }

    // MARK: Goodbye

    /// The BYE is due or was sent: nothing else is sent any more.
    var hasEnded: Bool { bye != .none }

    mutating func end() { if bye == .none { bye = .due } }

    /// Writes the BYE, once.
    /// - Returns: its bytes; nil if it was written before.
    mutating func writeBye(
        _ parameters: SenderParameters, tracks: [AudioTrack], into buffer: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard bye == .due else { return nil }
        bye = .sent
        var writer = ByteWriter(buffer)
        do throws(BufferFull) {
            try writeEmpty(parameters, into: &writer)
            if let video = parameters.video { try Goodbye.write(ssrc: video.ssrc, into: &writer) }
            for track in tracks { try Goodbye.write(ssrc: track.stream.ssrc, into: &writer) }
        } catch {}
        return writer.position
    }

    // MARK: Reports

    /// Writes a receiver report without blocks, and the CNAME.
    private func writeEmpty(_ parameters: SenderParameters, into writer: inout ByteWriter) throws(BufferFull) {
        let ssrc = parameters.video?.ssrc ?? parameters.audio.first?.ssrc ?? 0
        try ReceiverReport.write(ssrc: ssrc, into: &writer)
        try SourceDescription.write(ssrc: ssrc, cname: parameters.cname, into: &writer)
    }

    /// Writes a compound RTCP packet with the sender reports of all streams that were active.
    /// - Parameter estimate: the bandwidth estimate that our own receivers are told.
    /// - Returns: its bytes.
    mutating func writeReport(
        _ parameters: SenderParameters, video: inout VideoSendStream, tracks: inout [AudioTrack], estimate: Bitrate,
        into buffer: UnsafeMutableRawBufferPointer, now: MediaInstant
    ) -> Int {
        var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: buffer[0..<1_200]))
        var isFlowing = false
        do throws(BufferFull) {
            if let stream = parameters.video, let stamp = video.timestamp(at: now) {
                try write(stream.ssrc, stamp, video.report, parameters.cname, into: &writer, now)
                if parameters.extensions[.frameReferences] != nil {
                    try writeForOwnReceiver(stream.ssrc, estimate, into: &writer, now)
                }
                isFlowing = video.report.hasSentSinceReport
                video.report.hasSentSinceReport = false
            }
            for index in tracks.indices {
                let report = tracks[index].report
                // A track that was silent since its last report has nothing new to report.
                guard report.hasSentSinceReport || parameters.video == nil || lastReport == nil,
                    let stamp = tracks[index].timestamp(at: now)
                else { continue }
                try write(tracks[index].stream.ssrc, stamp, report, parameters.cname, into: &writer, now)
                isFlowing = isFlowing || report.hasSentSinceReport
                tracks[index].report.hasSentSinceReport = false
            }
            // Nothing was forwarded yet.
            if writer.position == 0 { try writeEmpty(parameters, into: &writer) }
        } catch {}
        lastReport = now
        nextReport = now + (isFlowing ? .seconds(1) : parameters.idleReportInterval)
        reports &+= 1
        return writer.position
    }

    /// Writes the sender report of one stream, and its CNAME.
    private func write(
        _ ssrc: UInt32, _ timestamp: RTPTimestamp, _ report: SenderReportState, _ cname: String,
        into writer: inout ByteWriter, _ now: MediaInstant
    ) throws(BufferFull) {
        try SenderInfo(
            ssrc: ssrc, ntp: ntp(at: now), rtpTimestamp: timestamp, packetCount: report.packets,
            octetCount: report.octets
        ).write(into: &writer)
        try SourceDescription.write(ssrc: ssrc, cname: cname, into: &writer)
    }

    /// REMB in the direction of the media, as our own receivers show the sender's estimate; and a DLRR block.
    private mutating func writeForOwnReceiver(
        _ ssrc: UInt32, _ estimate: Bitrate, into writer: inout ByteWriter, _ now: MediaInstant
    ) throws(BufferFull) {
        try REMB.write(senderSSRC: ssrc, mediaSSRC: ssrc, bitrate: estimate, into: &writer)
        guard let (receiver, time, arrival) = receiverTime else { return }
        let delay = NTPTimestamp.shortInterval(now - arrival)
        try ExtendedReport.write(
            ssrc: ssrc, answer: .init(ssrc: receiver, lastTime: time, delay: delay), into: &writer)
        // Each receiver reference time (RFC 3611 section 4.4) is answered once, by a DLRR block.
        receiverTime = nil
    }
}
