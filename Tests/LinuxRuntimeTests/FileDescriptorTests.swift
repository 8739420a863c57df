import Glibc
import LinuxRuntime
import Testing

struct FileDescriptorTests {
    @Test func aPipeIsReadToItsEndOrToTheLimit() throws {
        let pipe = try AnonymousPipe()
        let (input, output) = (FileDescriptor(pipe.write), FileDescriptor(pipe.read))
        let text = [UInt8]("hello".utf8)
        #expect(write(input.number, text, text.count) == text.count)
        input.close()
        #expect(output.read(upTo: 2) == Array("he".utf8))
        #expect(output.textToEnd() == "llo")
        #expect(output.read() == [])
    }

    @Test func itIsClosedOnceAndReadsNothingThen() throws {
        let pipe = try AnonymousPipe()
        let (input, output) = (FileDescriptor(pipe.write), FileDescriptor(pipe.read))
        output.close()
        #expect(output.number == -1 && output.read() == nil && output.textToEnd().isEmpty)
        // The number may belong to another file by now: a second time it is not closed.
        output.close()
        // The pipe has no reader any more.
        var writing = pollfd(fd: input.number, events: Int16(POLLOUT), revents: 0)
        #expect(poll(&writing, 1, 0) == 1 && writing.revents & Int16(POLLERR) != 0)
    }

    @Test func itIsClosedWhenItIsReleased() throws {
        let pipe = try AnonymousPipe()
        let output = FileDescriptor(pipe.read)
        do { _ = FileDescriptor(pipe.write) }
        #expect(output.read() == [])
    }

    @Test func whatCannotBeReadIsNil() {
        #expect(FileDescriptor(reading: "/nonexistent/file") == nil)
        #expect(FileDescriptor(reading: "/")?.read() == nil)
        #expect(FileDescriptor(reading: "/dev/zero")?.read(upTo: 100_000)?.count == 100_000)
    }
}
