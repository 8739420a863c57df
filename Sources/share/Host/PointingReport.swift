import MediaCore

/// Decides which gestures of viewers' pointers the host's user is told in words. A value without a clock.
struct PointingReport {
    struct Line: Equatable {
        /// The viewer's name.
        var name: String
        /// A part of the picture: "the upper left".
        var place: String

        /// `"Ann" points at the upper left of the picture`.
        var text: String { "\(UntrustedText.quote(name)) points at \(place) of the picture" }
    }

    private struct Viewer {
        var seen: MediaInstant
        var told: MediaInstant?
        var place = ""
    }

    /// Between two lines about one viewer.
    static let interval = MediaDuration.seconds(5)
    /// A viewer that has not pointed for so long begins anew.
    static let silence = MediaDuration.seconds(10)
    /// Between two lines about any viewers.
    static let commonInterval = MediaDuration.seconds(1)
    /// Viewers that are remembered.
    static let viewerLimit = 64

    private var viewers: [Int: Viewer] = [:]
    private var lastLine: MediaInstant?

    /// - Returns: what the user is told: that a viewer begins to point, points at another part of the picture, clicks
    ///   or draws.
    mutating func handle(_ events: PointerEvents, now: MediaInstant) -> [Line] {
        events.pointers.compactMap { handle($0, now: now) }
    }

    private mutating func handle(_ event: PointerEvent, now: MediaInstant) -> Line? {
        guard event.kind != .leave, let point = event.points.last else { return nil }
        let known = viewers[event.id]
        var viewer = known ?? Viewer(seen: now)
        let begins = known == nil || now - viewer.seen >= Self.silence
        viewer.seen = now
        let place = Self.place(of: point)
        let isNews = begins || place != viewer.place || event.kind != .move
        let isDue =
            (viewer.told.map { now - $0 >= Self.interval } ?? true)
            && (lastLine.map { now - $0 >= Self.commonInterval } ?? true)
        if isNews, isDue { (viewer.told, viewer.place, lastLine) = (now, place, now) }
        viewers[event.id] = viewer
        if viewers.count > Self.viewerLimit, let oldest = viewers.min(by: { $0.value.seen < $1.value.seen }) {
            viewers[oldest.key] = nil
        }
        return isNews && isDue ? Line(name: UntrustedText.clean(event.from, fallback: "a viewer"), place: place) : nil
    }

    /// The ninth of the picture that has this point.
    static func place(of point: PicturePoint) -> String {
        func third(_ value: UInt16) -> Int { Int(value) * 3 / 65_536 }
        let places = [
            ["the upper left", "the top", "the upper right"], ["the left", "the middle", "the right"],
            ["the lower left", "the bottom", "the lower right"],
        ]
        return places[third(point.y)][third(point.x)]
    }
}
