import Glibc
import LinuxRuntime
import Testing

struct AnonymousPipeTests {
    @Test func itsEndsAreInheritedByNoProgram() throws {
        let pipe = try AnonymousPipe()
        defer {
            close(pipe.read)
            close(pipe.write)
        }
        for end in [pipe.read, pipe.write] { #expect(fcntl(end, F_GETFD) & FD_CLOEXEC != 0) }
        var byte: UInt8 = 7
        #expect(write(pipe.write, &byte, 1) == 1)
        byte = 0
        #expect(read(pipe.read, &byte, 1) == 1 && byte == 7)
    }
}
