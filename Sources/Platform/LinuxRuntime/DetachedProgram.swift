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
        let pipe = try AnonymousPipe()
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        var id: pid_t = 0
        let code = clinux_spawn_detached(&id, program, words, variables, pipe.write)
        for text in words + variables { free(text) }
        close(pipe.write)
        guard code == 0 else {
            close(pipe.read)
            throw Failure(code: code)
        }
        return (id, pipe.read)
    }
}
