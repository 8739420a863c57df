internal import CLinux
internal import Glibc

/// A program that goes on when this process ends: in a session of its own, without input and output.
public enum DetachedProgram {
    public struct Failure: Error, Equatable {
        /// ENOENT, for example.
        public let code: Int32
    }

    /// Starts a program.
    /// - Parameters:
    ///   - program: a path, or a name to be found in PATH.
    ///   - environment: all of its variables.
    /// - Returns: its process id, to be reaped by the caller, and the end of a pipe from which its stderr is read, to be
    ///   closed by the caller.
    public static func start(
        _ program: String, _ arguments: [String], environment: [String: String]
    ) throws(Failure) -> (id: Int32, errors: Int32) {
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends) == 0 else { throw Failure(code: errno) }
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        var id: pid_t = 0
        let code = clinux_spawn_detached(&id, program, words, variables, ends[1])
        for text in words + variables { free(text) }
        close(ends[1])
        guard code == 0 else {
            close(ends[0])
            throw Failure(code: code)
        }
        return (id, ends[0])
    }
}
