import Glibc

/// A program that the test started. Foundation's `Process` waits until no other child has its descriptors either.
final class Child {
    let identifier: pid_t
    private var status: Int32?

    /// - Parameters:
    ///   - environment: added to the test's own.
    ///   - errors: the descriptor for its standard error; nil discards it.
    init(_ arguments: [String], environment: [String: String] = [:], errors: Int32? = nil) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        if let errors {
            posix_spawn_file_actions_adddup2(&actions, errors, 2)
        } else {
            posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        var variables = environment.map { strdup("\($0.key)=\($0.value)") }
        var next = environ
        while let variable = next.pointee {
            let name = String(cString: variable).prefix { $0 != "=" }
            if environment[String(name)] == nil { variables.append(strdup(variable)) }
            next += 1
        }
        var words = arguments.map { strdup($0) }
        words.append(nil)
        variables.append(nil)
        defer { (words + variables).forEach { free($0) } }
        var child = pid_t()
        let code = posix_spawnp(&child, arguments[0], &actions, nil, words, variables)
        guard code == 0 else { throw CannotStart(program: arguments[0], code: code) }
        identifier = child
    }

    struct CannotStart: Error {
        let program: String
        let code: Int32
    }

    /// Waits for its end.
    func wait() {
        guard status == nil else { return }
        var result: Int32 = 0
        while waitpid(identifier, &result, 0) < 0, errno == EINTR {}
        status = result
    }

    func kill(_ signal: Int32 = SIGKILL) {
        guard status == nil else { return }
        _ = Glibc.kill(identifier, signal)
        wait()
    }

    deinit { kill() }
}
