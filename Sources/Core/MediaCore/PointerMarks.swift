/// What is shown of one viewer's pointer at an instant.
public struct PointerMark: Sendable, Equatable, Identifiable {
    /// A line that the viewer has drawn.
    public struct Line: Sendable, Equatable {
        /// One at least, the oldest first. A single one is a dot.
        public var points: [PicturePoint]
        /// 1, and less while it fades; over 0.
        public var opacity: Double

        public init(points: [PicturePoint], opacity: Double) { (self.points, self.opacity) = (points, opacity) }
    }

    /// Grows around the place of a click.
    public struct Ring: Sendable, Equatable {
        public var center: PicturePoint
        /// 0 at the click, below 1.
        public var progress: Double

        public init(center: PicturePoint, progress: Double) { (self.center, self.progress) = (center, progress) }
    }

    /// The colors of viewers, 0xRRGGBB. The page has the same ones.
    public static let palette: [UInt32] = [
        0xE6194B, 0x0082C8, 0x3CB44B, 0xF58231, 0x911EB4, 0x008080, 0xD2A000, 0x808000,
    ]

    /// Of the viewer in its broadcast.
    public var id: Int
    /// The viewer's name.
    public var name: String
    /// Where the arrow's tip stands; nil: the pointer is not shown.
    public var tip: PicturePoint?
    /// Of the arrow and the name: 1, and less while they fade.
    public var opacity: Double
    public var lines: [Line]
    public var rings: [Ring]

    public init(
        id: Int, name: String, tip: PicturePoint?, opacity: Double = 1, lines: [Line] = [], rings: [Ring] = []
    ) {
        (self.id, self.name, self.tip, self.opacity) = (id, name, tip, opacity)
        (self.lines, self.rings) = (lines, rings)
    }

    /// 0xRRGGBB.
    public var color: UInt32 { Self.palette[Int(id.magnitude % UInt(Self.palette.count))] }
}

/// The pointers of a broadcast's viewers: what is shown of them, and until when. A value without a clock.
public struct PointerMarks: Sendable {
    /// How long a pointer is shown after its viewer's last gesture.
    public static let pointerLifetime = MediaDuration.seconds(2)
    /// How long a line is shown after its last point.
    public static let lineLifetime = MediaDuration.seconds(5)
    public static let ringLifetime = MediaDuration.milliseconds(600)
    /// Pointers and lines fade for the last part of their time.
    public static let fadeTime = MediaDuration.milliseconds(400)
    /// Between two looks while something fades or grows.
    public static let frameInterval = MediaDuration.milliseconds(33)
    /// Viewers at once. One more takes the place of the one that did nothing for the longest time.
    public static let viewerLimit = 64
    /// Points in all lines of a viewer. One more takes the place of the oldest.
    public static let pointLimit = 1_024
    /// Rings of a viewer.
    static let ringLimit = 8

    private struct Line {
        var points: [PicturePoint]
        var changed: MediaInstant
    }

    private struct Viewer {
        var name: String
        var tip: PicturePoint?
        var seen: MediaInstant
        var isDrawing = false
        /// The oldest first.
        var lines: [Line] = []
        var rings: [(center: PicturePoint, begun: MediaInstant)] = []

        mutating func draw(_ points: [PicturePoint], now: MediaInstant) {
            if !isDrawing || lines.isEmpty { lines.append(PointerMarks.Line(points: [], changed: now)) }
            let last = lines.count - 1
            for point in points where lines[last].points.last != point { lines[last].points.append(point) }
            lines[last].changed = now
            var excess = lines.reduce(0) { $0 + $1.points.count } - PointerMarks.pointLimit
            while excess > 0, let first = lines.first {
                if first.points.count <= excess, lines.count > 1 {
                    lines.removeFirst()
                    excess -= first.points.count
                } else {
                    lines[0].points.removeFirst(excess)
                    excess = 0
                }
            }
        }
    }

    private var viewers: [Int: Viewer] = [:]

    public init() {}

    /// Whether nothing is remembered. Something may be remembered that is not shown any more.
    public var isEmpty: Bool { viewers.isEmpty }

    /// Takes over what viewers have done.
    public mutating func handle(_ events: PointerEvents, now: MediaInstant) {
        for event in events.pointers { handle(event, now: now) }
    }

    /// Takes over what a viewer has done. Points of a kind that has none are left out.
    public mutating func handle(_ event: PointerEvent, now: MediaInstant) {
        removeFaded(now: now)
        guard var viewer = viewers[event.id] ?? (event.kind == .leave ? nil : added(now: now)) else { return }
        (viewer.name, viewer.seen) = (event.from, now)
        switch event.kind {
        case .move, .click:
            guard let point = event.points.last else { return }
            viewer.tip = point
            if event.kind == .click {
                viewer.rings = viewer.rings.suffix(Self.ringLimit - 1) + [(point, now)]
            }
        case .draw:
            guard let point = event.points.last else { return }
            viewer.tip = point
            viewer.draw(event.points, now: now)
        case .leave: viewer.tip = nil
        }
        viewer.isDrawing = event.kind == .draw
        viewers[event.id] = viewer
    }

    /// What is to be shown, by the viewers' ids.
    public func marks(at now: MediaInstant) -> [PointerMark] {
        viewers.sorted { $0.key < $1.key }.compactMap { id, viewer in
            let opacity = Self.opacity(since: viewer.seen, Self.pointerLifetime, at: now)
            let mark = PointerMark(
                id: id, name: viewer.name, tip: opacity > 0 ? viewer.tip : nil, opacity: opacity,
                lines: viewer.lines.compactMap { line in
                    let opacity = Self.opacity(since: line.changed, Self.lineLifetime, at: now)
                    return opacity > 0 ? PointerMark.Line(points: line.points, opacity: opacity) : nil
                },
                rings: viewer.rings.compactMap { ring in
                    let progress = (now - ring.begun).inSeconds / Self.ringLifetime.inSeconds
                    return progress < 1 ? PointerMark.Ring(center: ring.center, progress: max(progress, 0)) : nil
                })
            return mark.tip == nil && mark.lines.isEmpty && mark.rings.isEmpty ? nil : mark
        }
    }

    /// When `marks` next differs from what it is now, without another event; nil: never.
    public func nextChange(after now: MediaInstant) -> MediaInstant? {
        var next: MediaInstant?
        /// - Parameter begin: of the time in which it changes with each look.
        func note(_ begin: MediaInstant, until end: MediaInstant) {
            guard now < end else { return }
            let change = max(begin, min(now + Self.frameInterval, end))
            next = next.map { min($0, change) } ?? change
        }
        for viewer in viewers.values {
            if viewer.tip != nil {
                let end = viewer.seen + Self.pointerLifetime
                note(end - Self.fadeTime, until: end)
            }
            for line in viewer.lines {
                let end = line.changed + Self.lineLifetime
                note(end - Self.fadeTime, until: end)
            }
            for ring in viewer.rings { note(ring.begun, until: ring.begun + Self.ringLifetime) }
        }
        return next
    }

    // MARK: Implementation

    private static func opacity(
        since begin: MediaInstant, _ lifetime: MediaDuration, at now: MediaInstant
    ) -> Double {
        min(max((begin + lifetime - now).inSeconds / fadeTime.inSeconds, 0), 1)
    }

    /// A new viewer, for which there is a place.
    private mutating func added(now: MediaInstant) -> Viewer {
        if viewers.count >= Self.viewerLimit, let oldest = viewers.min(by: { $0.value.seen < $1.value.seen }) {
            viewers[oldest.key] = nil
        }
        return Viewer(name: "", seen: now)
    }

    /// A viewer whose line is the last thing that is shown stays until that has faded.
    private mutating func removeFaded(now: MediaInstant) {
        viewers = viewers.compactMapValues { viewer in
            var viewer = viewer
            viewer.lines.removeAll { $0.changed + Self.lineLifetime <= now }
            viewer.rings.removeAll { $0.begun + Self.ringLifetime <= now }
            let isShown = viewer.tip != nil && now < viewer.seen + Self.pointerLifetime
            return isShown || !viewer.lines.isEmpty || !viewer.rings.isEmpty ? viewer : nil
        }
    }
}
