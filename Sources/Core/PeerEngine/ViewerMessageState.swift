public import MediaCore

/// Decides about the messages of viewers: who may do what, how often, and what the host's user is asked. A value without
/// a clock.
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
        case refused(MessageRefusal)
    }

    private struct Person: Sendable {
        var rights: ViewerRights
        var comments: TokenBucket
        /// The rights about which the host's user is being asked.
        var asked: [ViewerRight: Question] = [:]
        /// When it was refused a right last.
        var refused: [ViewerRight: MediaInstant] = [:]
        /// When its last session ended; nil: it watches.
        var left: MediaInstant?
    }

    private var defaults: ViewerRights
    private var people: [ViewerKey: Person] = [:]
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
        comments = TokenBucket(burst: 40, rate: 10, now: now)
        questions = TokenBucket(burst: 6, rate: 0.2, now: now)
    }

    public func rights(of viewer: ViewerKey) -> ViewerRights { people[viewer]?.rights ?? defaults }

    /// - Parameters:
    ///   - viewer: watches at the moment.
    ///   - name: as it has knocked.
    public mutating func take(
        _ message: ViewerMessage, from viewer: ViewerKey, named name: String, now: MediaInstant
    ) -> Outcome {
        var person = person(viewer, now)
        defer { people[viewer] = person }
        switch message {
        case .comment(let text):
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
        case .ask(let right): return ask(right, &person, viewer, now)
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
    /// - Returns: the viewer's rights; nil: nothing of them has changed.
    public mutating func answer(_ question: Question, _ isGranted: Bool?, now: MediaInstant) -> ViewerRights? {
        // It has left, or its rights were changed meanwhile.
        guard var person = people[question.viewer], person.asked[question.right] == question else { return nil }
        person.asked[question.right] = nil
        if isGranted == false { person.refused[question.right] = now }
        if isGranted == true { person.rights[question.right] = .yes }
        people[question.viewer] = person
        return isGranted == true ? person.rights : nil
    }

    /// The host's user grants a right, or takes it back. An open question about it is void.
    /// - Returns: the viewer's rights; nil: nothing of them has changed.
    public mutating func set(
        _ right: ViewerRight, to value: RightState, of viewer: ViewerKey, now: MediaInstant
    ) -> ViewerRights? {
        var person = person(viewer, now)
        person.asked[right] = nil
        person.refused[right] = nil
        let isNew = person.rights[right] != value
        person.rights[right] = value
        people[viewer] = person
        return isNew ? person.rights : nil
    }

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
        if isForGood { people[viewer] = nil }
        people[viewer]?.asked = [:]
        people[viewer]?.left = now
    }

    private mutating func forgetAbsent(_ now: MediaInstant) {
        people = people.filter { $0.value.left.map { now - $0 < Self.absenceTime } ?? true }
    }

    private func person(_ viewer: ViewerKey, _ now: MediaInstant) -> Person {
        people[viewer]
            ?? Person(rights: defaults, comments: TokenBucket(burst: 5, rate: 0.5, now: now))
    }
}
