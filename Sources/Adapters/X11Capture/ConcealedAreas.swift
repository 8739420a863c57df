internal import MediaCore

/// Which windows are black in what is captured of the screen, and where they are visible.
struct ConcealmentRule {
    var patterns: [WindowPattern]

    func conceals(_ window: TopLevelWindow) -> Bool {
        conceals(window.facts) || window.clients.contains { conceals($0) }
    }

    private func conceals(_ facts: WindowFacts) -> Bool {
        facts.isNotification || facts.asksForExclusion || patterns.contains { facts.matches($0) }
    }

    /// The visible parts of the concealed windows, in pixels of the root window. A window above hides a part only if it
    /// is certainly opaque.
    func areas(of tree: WindowTree) -> [PixelRect] {
        var areas: [PixelRect] = []
        for window in tree.topLevels where window.facts.isViewable && !window.rect.isEmpty {
            if conceals(window) {
                areas.append(window.rect)
            } else if !areas.isEmpty, window.isOpaque(isComposited: tree.isComposited) {
                areas = areas.flatMap { $0.subtracting(window.rect) }
            }
        }
        return areas
    }
}

extension PixelRect {
    /// The parts outside of `other`: at most four, disjoint.
    func subtracting(_ other: PixelRect) -> [PixelRect] {
        guard x < other.maxX, other.x < maxX, y < other.maxY, other.y < maxY else { return [self] }
        let top = max(y, other.y)
        let bottom = min(maxY, other.maxY)
        let parts = [
            PixelRect(x: x, y: y, width: width, height: top - y),
            PixelRect(x: x, y: bottom, width: width, height: maxY - bottom),
            PixelRect(x: x, y: top, width: other.x - x, height: bottom - top),
            PixelRect(x: other.maxX, y: top, width: maxX - other.maxX, height: bottom - top),
        ]
        return parts.filter { !$0.isEmpty }
    }

    func intersection(_ other: PixelRect) -> PixelRect {
        let left = max(x, other.x)
        let top = max(y, other.y)
        return PixelRect(
            x: left, y: top, width: max(min(maxX, other.maxX) - left, 0), height: max(min(maxY, other.maxY) - top, 0))
    }

    func offset(x dx: Int, y dy: Int) -> PixelRect { PixelRect(x: x + dx, y: y + dy, width: width, height: height) }
}

/// The areas that are black now: those of concealed windows, and for a while those where such a window was, as a
/// compositing manager draws later than the server reports.
struct ConcealedAreas {
    /// How long an area stays black after its window has left it, if a compositing manager runs.
    static let linger = MediaDuration.milliseconds(150)

    private(set) var current: [PixelRect] = []
    private var leaving: [(rect: PixelRect, until: MediaInstant)] = []

    /// All that is black, in pixels of the root window.
    var areas: [PixelRect] { leaving.isEmpty ? current : current + leaving.map(\.rect) }
    var isEmpty: Bool { current.isEmpty && leaving.isEmpty }
    /// When the next area is no longer black.
    var nextExpiry: MediaInstant? { leaving.map(\.until).min() }

    /// - Returns: what has to be read again.
    mutating func update(_ areas: [PixelRect], isComposited: Bool, at now: MediaInstant) -> [PixelRect] {
        guard areas != current else { return [] }
        let before = current
        current = areas
        if isComposited { leaving += before.map { ($0, now + Self.linger) } }
        return before + areas
    }

    /// - Returns: what has to be read again.
    mutating func expire(at now: MediaInstant) -> [PixelRect] {
        guard let first = nextExpiry, first <= now else { return [] }
        let expired = leaving.filter { $0.until <= now }.map(\.rect)
        leaving.removeAll { $0.until <= now }
        return expired
    }
}
