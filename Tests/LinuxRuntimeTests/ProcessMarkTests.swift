import LinuxRuntime
import TestSupport
import Testing

/// Processes that are found by a variable of their environment.
@Suite struct ProcessMarkTests {
    private static let killed: Int32 = 128 + 9
    private static let terminated: Int32 = 128 + 15

    /// A program and its child, which run until they are ended. The child has written a line, as /proc shows the
    /// environment only some time after `posix_spawn` has returned, and one pass finds no process that begins
    /// meanwhile.
    private func sleeper(_ mark: String) throws -> Program {
        let parts = mark.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let sleeper = try Program(
            "sh", ["-c", "sh -c 'echo started; exec sleep 1000'; exit"], environment: [parts[0]: parts[1]])
        let hasStarted: Bool? = sleeper.wait(seconds: 30) { output, _ in output.isEmpty ? nil : true }
        try #require(hasStarted == true)
        return sleeper
    }

    /// A name of a variable that no other test uses.
    private let name = "TEST_MARK_\(UInt64.random(in: 0...UInt64.max))"

    @Test func theProcessesOfAMarkAreEndedAndNoOthers() throws {
        let mark = ProcessMark(name, number: 1)
        let (marked, other) = (try sleeper(mark.text), try sleeper(ProcessMark(name, number: 2).text))
        mark.endProcesses()
        #expect(marked.exitCode(seconds: 30) == Self.killed)
        // Its owner, this process, runs.
        ProcessMark.endOrphans(name)
        other.terminate()
        #expect(other.exitCode(seconds: 30) == Self.terminated)
    }

    /// The owner has another start time, or there is no process of its number.
    @Test(arguments: ["1.1.1", "4194305.1.1"])
    func theProcessesOfAnOwnerThatHasGoneAreEnded(_ value: String) throws {
        let orphan = try sleeper("\(name)=\(value)")
        ProcessMark.endOrphans(name)
        #expect(orphan.exitCode(seconds: 30) == Self.killed)
    }

    @Test(arguments: ["", "a.b.c", "1.1", "1.1.1.1", "99999999999.1.1"])
    func aMarkThatIsNoneIsLeftAlone(_ value: String) throws {
        let process = try sleeper("\(name)=\(value)")
        ProcessMark.endOrphans(name)
        process.terminate()
        #expect(process.exitCode(seconds: 30) == Self.terminated)
    }
}
