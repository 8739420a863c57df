/// Decides what a lock of the user's session does to a broadcast: it pauses, and on return the user is asked whether to
/// resume it or to end it. A broadcast that was paused before stays as it is.
struct LockPausePolicy {
    enum Event: Equatable {
        case locked
        case unlocked
        /// The pause that was asked for; false if the broadcast was paused already.
        case paused(Bool)
        /// Somebody has resumed the broadcast.
        case resumed
        /// The answer to the question.
        case answered(resumes: Bool)
    }

    enum Action: Equatable {
        case pause
        case ask
        /// Takes the question back.
        case withdraw
        case resume
        case end
    }

    private(set) var isLocked = false
    private(set) var isPausedByLock = false
    private(set) var isAsking = false

    mutating func handle(_ event: Event) -> Action? {
        switch event {
        case .locked:
            isLocked = true
            if isAsking {
                isAsking = false
                return .withdraw
            }
            return isPausedByLock ? nil : .pause
        case .paused(let isOurs):
            isPausedByLock = isPausedByLock || isOurs
            return nil
        case .unlocked:
            guard isLocked else { return nil }
            isLocked = false
            isAsking = isPausedByLock
            return isAsking ? .ask : nil
        case .resumed:
            isPausedByLock = false
            guard isAsking else { return nil }
            isAsking = false
            return .withdraw
        case .answered(let resumes):
            guard isAsking else { return nil }
            (isAsking, isPausedByLock) = (false, false)
            return resumes ? .resume : .end
        }
    }
}
