internal import Glibc
internal import LinuxRuntime

extension Subprocess {
    /// Starts the program `share`; its stdout and stderr are pipes.
    /// - Parameter program: `share`, to be found in this process's PATH, or a path to it.
    /// - Throws: `.noProgram`.
    convenience init(
        share program: String, _ arguments: [String], _ environment: [String: String], input: Stream = .null
    ) throws(ShareKitError) {
        do throws(Failure) {
            try self.init(
                program, arguments, environment: environment, input: input, output: .pipe, errors: .pipe)
        } catch {
            throw .missing(program, error)
        }
    }
}

extension ShareKitError {
    static func missing(_ program: String, _ failure: Subprocess.Failure) -> ShareKitError {
        ShareKitError(
            .noProgram, "\(program) cannot be started: \(String(cString: strerror(failure.code)))",
            remedy: "Install share, or give its path.")
    }
}

extension FileDescriptor {
    /// An end of a pipe of a program.
    convenience init?(end descriptor: Int32?) {
        guard let descriptor else { return nil }
        self.init(descriptor)
    }
}
