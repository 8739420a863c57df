public import MediaCore

/// Decides about the messages of viewers: who may do what, how often, and what the host's user is asked. A value
/// without a clock.
///
/// Each viewer has its rights from the first message on until it has left. Nothing of them is remembered.
public struct ViewerMessageState: Sendable {
    /// SHA-256 of the viewer's certificate, 32 bytes.
    public typealias ViewerKey = [UInt8]

    /// A question to the host's user.
    public struct Question: Sendable, Hashable {
        public let viewer: ViewerKey
        public let right: ViewerRight
        /// Tells it from earlier ones of the same viewer.
        public let number: Int
    }

    public enum Outcome: Sendable, Equatable {
        /// All are told.
        case comment(BroadcastComment)
        case question(Question)
        /// It is asked already, or the viewer has that right.
        case nothing
        /// The viewer of this number has done that with its pointer.
        case pointer(PointerGesture, of: Int)
        case input(ControlInput)
        /// These viewers are to be told.
        case changed([Change])
        case refused(MessageRefusal)
    }

    /// The rights of a viewer, which have changed.
    public struct Change: Sendable, Equatable {
        public let viewer: ViewerKey
        public let granted: GrantedRights
    }

    private struct Person: Sendable {
        var rights: ViewerRights
        /// Of its pointer.
        let number: Int
        var comments: TokenBucket
        var gestures: TokenBucket
        /// The rights about which the host's user is being asked.
        var asked: [ViewerRight: Question] = [:]
        /// When it was refused a right last.
        var refused: [ViewerRight: MediaInstant] = [:]
        /// When its last session ended; nil: it watches.
        var left: MediaInstant?
    }

    private var defaults: ViewerRights
    /// Whether who asks to control does so without a question, as long as nobody else does.
    private let grantsControl: Bool
    public private(set) var control = ControlState()
    private var people: [ViewerKey: Person] = [:]
    private var lastNumber = 0
    private var comments: TokenBucket
    private var questions: TokenBucket
    private var lastQuestion = 0

    /// A refusal holds for this long.
    private static let refusalSeconds = 60
    /// Questions that wait at a time.
    private static let questionLimit = 8
    /// A viewer that comes back within this time, as after an outage, has the rights that it had.
    private static let absenceTime = MediaDuration.seconds(30)

    /// - Parameter defaults: of each viewer.
    public init(defaults: ViewerRights, now: MediaInstant) {
        self.defaults = defaults
        grantsControl = defaults.control == .yes
        if grantsControl { self.defaults.control = .ask }
        comments = TokenBucket(burst: 40, rate: 10, now: now)
        questions = TokenBucket(burst: 6, rate: 0.2, now: now)
    }

    public func rights(of viewer: ViewerKey) -> ViewerRights { people[viewer]?.rights ?? defaults }

    /// As the viewer is told.
    public mutating func granted(_ viewer: ViewerKey, now: MediaInstant) -> GrantedRights {
        let person = person(viewer, now)
        people[viewer] = person
        return granted(viewer, person)
    }

    private func granted(_ viewer: ViewerKey, _ person: Person) -> GrantedRights {
        GrantedRights(
            person.rights, grant: control.number(of: viewer),
            pointer: person.rights.point == .yes ? person.number : nil)
    }

    /// - Parameters:
    ///   - viewer: watches at the moment.
    ///   - name: as it has knocked.
    ///   - isOutdated: of an input: whether its frame is not shown any more since a second.
    public mutating func take(
        _ message: ViewerMessage, from viewer: ViewerKey, named name: String, isOutdated: Bool = false,
        now: MediaInstant
    ) -> Outcome {
        var person = person(viewer, now)
        people[viewer] = person
        switch message {
        case .comment(let text):
            defer { people[viewer] = person }
            guard person.rights.comment == .yes else { return .refused(.notAllowed(.comment)) }
            person.comments.refill(now)
            comments.refill(now)
            // What one has too many counts for that one alone.
            guard person.comments.has() else { return .refused(.limited(seconds: person.comments.wait)) }
            person.comments.take()
            guard comments.has() else { return .refused(.limited(seconds: comments.wait)) }
            guard let comment = BroadcastComment(from: name, text) else { return .refused(.empty) }
            comments.take()
            return .comment(comment)
        case .pointer(let gesture):
            guard person.rights.point == .yes else { return .refused(.notAllowed(.point)) }
            person.gestures.refill(now)
            // Its next one says where the pointer is.
            guard person.gestures.has() else { return .nothing }
            person.gestures.take()
            people[viewer] = person
            return .pointer(gesture, of: person.number)
        case .input(let input):
            // What is under way when a permission ends is no fault of the viewer.
            guard case .pass(let input) = control.take(input, from: viewer, isOutdated: isOutdated, now: now) else {
                return .nothing
            }
            return .input(input)
        case .release(let right):
            guard person.rights[right] == .yes else { return .nothing }
            return .changed(change(right, to: .ask, of: viewer, now))
        case .ask(.control) where grantsControl && person.rights.control == .ask:
            guard control.controller == nil else { return .refused(.controlled) }
            return .changed(change(.control, to: .yes, of: viewer, now))
        case .ask(let right):
            defer { people[viewer] = person }
            return ask(right, &person, viewer, now)
        }
    }

    private mutating func ask(
        _ right: ViewerRight, _ person: inout Person, _ viewer: ViewerKey, _ now: MediaInstant
    ) -> Outcome {
        switch person.rights[right] {
        case .yes: return .nothing
        case .no: return .refused(.notAllowed(right))
        case .ask: break
        }
        guard person.asked[right] == nil else { return .nothing }
        if let time = person.refused[right], now - time < .seconds(Self.refusalSeconds) {
            let rest = Double(Self.refusalSeconds) - (now - time).inSeconds
            return .refused(.refusedBefore(right, seconds: max(1, Int(rest.rounded(.up)))))
        }
        questions.refill(now)
        let waiting = people.values.reduce(person.asked.count) { $0 + $1.asked.count }
        guard questions.has(), waiting < Self.questionLimit else {
            return .refused(.limited(seconds: questions.wait))
        }
        questions.take()
        lastQuestion += 1
        let question = Question(viewer: viewer, right: right, number: lastQuestion)
        person.asked[right] = question
        return .question(question)
    }

    /// The host's user has answered; nil: nobody has.
    /// - Returns: whose rights have changed.
    public mutating func answer(_ question: Question, _ isGranted: Bool?, now: MediaInstant) -> [Change] {
        // It has left, or its rights were changed meanwhile.
        guard people[question.viewer]?.asked[question.right] == question else { return [] }
        people[question.viewer]?.asked[question.right] = nil
        if isGranted == false { people[question.viewer]?.refused[question.right] = now }
        return isGranted == true ? change(question.right, to: .yes, of: question.viewer, now) : []
    }

    /// The host's user grants a right, or takes it back. An open question about it is void.
    /// - Returns: whose rights have changed.
    public mutating func set(
        _ right: ViewerRight, to value: RightState, of viewer: ViewerKey, now: MediaInstant
    ) -> [Change] {
        var person = person(viewer, now)
        person.asked[right] = nil
        person.refused[right] = nil
        people[viewer] = person
        return change(right, to: value, of: viewer, now)
    }

    private mutating func change(
        _ right: ViewerRight, to value: RightState, of viewer: ViewerKey, _ now: MediaInstant
    ) -> [Change] {
        guard var person = people[viewer], person.rights[right] != value else { return [] }
        var others: [Change] = []
        if right == .control {
            others = value == .yes ? endControl() : []
            if value == .yes { control.begin(viewer, now: now) } else if person.rights.control == .yes { control.end() }
        }
        person.rights[right] = value
        people[viewer] = person
        return others + [Change(viewer: viewer, granted: granted(viewer, person))]
    }

    // MARK: Control

    /// Nobody controls any more.
    /// - Returns: whose rights have changed.
    public mutating func endControl() -> [Change] {
        guard let viewer = control.controller else { return [] }
        control.end()
        guard var person = people[viewer] else { return [] }
        person.rights.control = .ask
        people[viewer] = person
        return [Change(viewer: viewer, granted: granted(viewer, person))]
    }

    /// To be called several times a second while somebody controls.
    public mutating func checkControl(now: MediaInstant) -> (releases: Bool, changes: [Change]) {
        switch control.silence(now: now) {
        case .release: (true, [])
        case .end: (true, endControl())
        case nil: (false, [])
        }
    }

    /// All input is dropped meanwhile.
    public mutating func holdControl(_ isHeld: Bool) { control.isHeld = isHeld }

    /// Whether the host's user is still to be asked this.
    public func isOpen(_ question: Question) -> Bool { people[question.viewer]?.asked[question.right] == question }

    /// A session of the viewer begins.
    public mutating func arrive(_ viewer: ViewerKey, now: MediaInstant) {
        forgetAbsent(now)
        people[viewer]?.left = nil
    }

    /// The viewer's last session is over. Questions about it are void.
    /// - Parameter isForGood: the host's user has removed it.
    public mutating func leave(_ viewer: ViewerKey, isForGood: Bool, now: MediaInstant) {
        forgetAbsent(now)
        if control.controller == viewer { _ = endControl() }
        if isForGood { people[viewer] = nil }
        people[viewer]?.asked = [:]
        people[viewer]?.left = now
    }

    private mutating func forgetAbsent(_ now: MediaInstant) {
        people = people.filter { $0.value.left.map { now - $0 < Self.absenceTime } ?? true }
    }

    private mutating func person(_ viewer: ViewerKey, _ now: MediaInstant) -> Person {
        if let person = people[viewer] { return person }
        lastNumber += 1
        return Person(
            rights: defaults, number: lastNumber, comments: TokenBucket(burst: 5, rate: 0.5, now: now),
            gestures: TokenBucket(burst: 60, rate: 60, now: now))
    }
}
