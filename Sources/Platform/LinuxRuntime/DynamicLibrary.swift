internal import Glibc

/// A shared library that is loaded at run time (dlopen) and stays loaded until the process ends.
// SAFETY: the handle is never closed, and dlsym may be called from any thread.
public struct DynamicLibrary: @unchecked Sendable {
    /// This machine does not have a library, it cannot be loaded, or it lacks a function.
    public struct Failure: Error {
        /// The dynamic linker's words.
        public let message: String

        init() { message = dlerror().map { String(cString: $0) } ?? "not found" }
    }

    private let handle: UnsafeMutableRawPointer

    /// Blocks while the linker reads the library and those that it needs.
    /// - Parameter name: the soname, with the version of its ABI.
    public init(_ name: String) throws(Failure) {
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { throw Failure() }
        self.handle = handle
    }

    /// The library if it is loaded already, as others are linked with it. Nil: it is not.
    public init?(loaded name: String) {
        guard let handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD) else { return nil }
        self.handle = handle
    }

    /// - Returns: the function; its type, `@convention(c)`, has to be that of the library's header.
    public func function<Function>(_ name: String) throws(Failure) -> Function {
        precondition(
            MemoryLayout<Function>.size == MemoryLayout<UnsafeRawPointer>.size, "\(Function.self) is no C function")
        guard let address = dlsym(handle, name) else { throw Failure() }
        return unsafeBitCast(address, to: Function.self)
    }
}
