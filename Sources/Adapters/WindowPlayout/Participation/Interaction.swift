import MediaCore

/// What the user of a window does beside watching: points, writes, controls. A value without a clock and a display.
/// What is to be done is taken out with `takeActions`.
struct Interaction {
    enum Mode: Equatable {
        case watching, pointing, controlling
    }

    private(set) var mode = Mode.watching
    private(set) var rights = ViewerRights.none
    /// A sentence that is shown for a time.
    private(set) var notice: (text: String, end: MediaInstant)?
    /// The comment that is being written.
    var line: CommentLine?
    var pointing = PointerSender()
    var control = ControlSender()
    /// What was written when the line was closed.
    private var draft = CommentLine()
    /// The right that the user has asked for last.
    private var wanted: ViewerRight?
    private var actions: [VideoWindow.Action] = []

    private static let noticeTime = MediaDuration.seconds(4)

    /// Whether there is anything that the user may do or ask for.
    var isOffered: Bool { rights != .none }

    // MARK: The user's choice

    /// Begins what a right is for, ends it, or asks the host's user.
    mutating func toggle(_ right: ViewerRight, now: MediaInstant) {
        switch (right, mode) {
        case (.point, .pointing): endPointing()
        case (.control, .controlling): endControl()
        case (.comment, _) where line != nil: closeLine()
        default:
            switch rights[right] {
            case .yes: begin(right)
            case .ask:
                wanted = right
                actions.append(.ask(right))
                show("The host is asked whether you may \(Self.verb(right)).", now)
            case .no: show("The host does not let viewers \(Self.verb(right)).", now)
            }
        }
    }

    /// Gives control back to the host.
    mutating func giveControlBack() {
        guard rights.control == .yes else { return }
        endControl()
        actions.append(.release(.control))
    }

    private mutating func begin(_ right: ViewerRight) {
        // It may say that the host is asked.
        (wanted, notice) = (nil, nil)
        switch right {
        case .comment: line = draft
        case .point:
            endControl()
            mode = .pointing
        case .control:
            endPointing()
            closeLine()
            mode = .controlling
        }
    }

    mutating func endPointing() {
        guard mode == .pointing else { return }
        pointing.leave()
        mode = .watching
    }

    /// The keyboard and the mouse are the window's again.
    mutating func endControl() {
        guard mode == .controlling else { return }
        control.releaseAll()
        mode = .watching
    }

    /// Closes the line. What was written is there when it is opened again.
    mutating func closeLine() {
        draft = line ?? draft
        draft.composition = ""
        line = nil
    }

    mutating func sendComment() {
        guard let comment = line?.comment else { return closeLine() }
        actions.append(.comment(comment))
        line = nil
        draft = CommentLine()
    }

    // MARK: From elsewhere

    /// The host has told what the viewer may do.
    mutating func setRights(_ new: ViewerRights, now: MediaInstant) {
        let old = rights
        rights = new
        if mode == .pointing, new.point != .yes { endPointing() }
        if mode == .controlling, new.control != .yes { endControl() }
        if new.comment != .yes, line != nil { closeLine() }
        for right in ViewerRight.allCases where old[right] != new[right] {
            switch new[right] {
            case .yes: granted(right, now)
            case .ask where old[right] == .yes, .no where old[right] == .yes:
                show("You may not \(Self.verb(right)) any more.", now)
            case .no where wanted == right: show("The host has not allowed it.", now)
            case .ask, .no: break
            }
            if wanted == right { wanted = nil }
        }
    }

    private mutating func granted(_ right: ViewerRight, _ now: MediaInstant) {
        // Keys that the user types elsewhere must not become the host's, or a comment.
        if wanted == right, right == .point && mode == .watching || right == .control && line == nil {
            return begin(right)
        }
        guard wanted == right else { return }
        show("You may \(Self.verb(right)): \(right == .comment ? "C" : right == .point ? "P" : "R").", now)
    }

    /// The broadcast has ended.
    mutating func end() {
        endPointing()
        endControl()
        closeLine()
        (rights, wanted, notice) = (.none, nil, nil)
    }

    /// The window has lost the keyboard.
    mutating func loseFocus() {
        if mode == .controlling { control.releaseAll() }
    }

    private static func verb(_ right: ViewerRight) -> String {
        switch right {
        case .comment: "write comments"
        case .point: "point"
        case .control: "control the screen"
        }
    }

    private mutating func show(_ text: String, _ now: MediaInstant) { notice = (text, now + Self.noticeTime) }

    // MARK: What comes of it

    /// When something is to be sent, or the notice goes; nil if nothing is to be done.
    var nextTime: MediaInstant? {
        [pointing.nextTime, control.nextTime, notice?.end].compactMap(\.self).min()
    }

    /// Takes out what is to be done now, in order.
    mutating func takeActions(_ now: MediaInstant) -> [VideoWindow.Action] {
        if let end = notice?.end, end <= now { notice = nil }
        defer { actions = [] }
        let gestures = pointing.take(now).map { [VideoWindow.Action.point($0)] } ?? []
        return gestures + control.take(now).map { .control($0) } + actions
    }
}
