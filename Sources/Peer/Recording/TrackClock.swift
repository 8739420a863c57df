import MediaCore

/// Converts the RTP timestamps of a track to the time of the recording.
///
/// A track starts at the time at which it arrives. RTP timestamps continue from there. As soon as sender reports say
/// when frames were captured (RFC 3550 section 6.4.1), the time follows those, slowly, so that the tracks of a sender
/// stay together although their clocks differ. A sudden change of that mapping is a step of the sender's wall
/// clock, and is ignored. A time that arrival contradicts starts the track anew: the sender's timestamps jumped.
struct TrackClock {
    /// Ticks in a second.
    let rate: Int64
    private var lastTimestamp: UInt32?
    /// Ticks since the first packet.
    private var ticks: Int64 = 0
    /// Ticks between the last two packets.
    private var step: Int64 = 0
    /// Recording time minus the time in ticks.
    private var offset: MediaDuration = .zero
    /// Capture time minus the time in ticks.
    private var mapping: MediaDuration?
    /// Steps of the sender's wall clock so far.
    private var steps: MediaDuration = .zero

    init(rate: Int64) { self.rate = rate }

    /// A larger change of the mapping from one packet to the next is a step.
    private static let smallestStep = MediaDuration.milliseconds(200)
    private static let deadZone = MediaDuration.milliseconds(3)
    /// The time is corrected by a twentieth of what has passed, and at least by this.
    private static let slew = MediaDuration.milliseconds(1)
    /// The greatest difference between the time and the time of arrival.
    static let latest = MediaDuration.seconds(15)
    static let earliest = MediaDuration.seconds(2)

    /// Another session begins: its RTP timestamps start anew.
    mutating func restart() {
        lastTimestamp = nil
        mapping = nil
        steps = .zero
    }

    /// - Parameters:
    ///   - arrival: in the time of the recording.
    ///   - captured: as the sender reports it.
    ///   - origin: capture time minus recording time, which all tracks share. Nil until it is known: then the first
    ///     track with a capture time sets it.
    mutating func time(
        _ timestamp: UInt32, arrival: MediaDuration, captured: MediaInstant?, origin: inout MediaDuration?
    ) -> MediaDuration {
        let isNew = lastTimestamp == nil
        step = lastTimestamp.map { Int64(Int32(bitPattern: timestamp &- $0)) } ?? 0
        ticks &+= step
        lastTimestamp = timestamp
        if isNew { offset = arrival - elapsed }
        if isContradicted(by: arrival) {
            offset = arrival - elapsed
            mapping = nil
            steps = .zero
        }
        if let captured { follow(captured, isNew: mapping == nil, arrival: arrival, &origin) }
        return elapsed + offset
    }

    private var elapsed: MediaDuration { duration(ticks) }

    private func duration(_ ticks: Int64) -> MediaDuration {
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: rate)
        return MediaDuration(nanoseconds: seconds &* 1_000_000_000 &+ rest &* 1_000_000_000 / rate)
    }

    private func isContradicted(by arrival: MediaDuration) -> Bool {
        let lateness = arrival - (elapsed + offset)
        return lateness > Self.latest || lateness < MediaDuration.zero - Self.earliest
    }

    private mutating func follow(
        _ captured: MediaInstant, isNew: Bool, arrival: MediaDuration, _ origin: inout MediaDuration?
    ) {
        let now = MediaDuration(nanoseconds: captured.nanoseconds &- elapsed.nanoseconds)
        if let mapping, abs(now - mapping) > Self.smallestStep { steps = steps + (now - mapping) }
        mapping = now
        let shared = origin ?? (now - steps - offset)
        origin = shared
        let error = (now - steps - shared) - offset
        if isNew {
            // The track joins the others at once, unless their common origin does not hold any more.
            if isPlausible(error, arrival) { offset = offset + error } else { steps = steps + error }
        } else if abs(error) > Self.deadZone {
            let most = max(Self.slew, duration(step / 20))
            offset = offset + min(max(error, .zero - most), most)
        }
    }

    private func isPlausible(_ error: MediaDuration, _ arrival: MediaDuration) -> Bool {
        let lateness = arrival - (elapsed + offset + error)
        return lateness < Self.latest && lateness > .zero - Self.earliest
    }

    private func abs(_ duration: MediaDuration) -> MediaDuration { duration < .zero ? .zero - duration : duration }
}
