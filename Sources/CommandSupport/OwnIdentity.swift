package import Admission

/// Loads this machine's identity, or makes one.
/// - Throws: `Complaint`.
package func makeIdentity() throws -> Identity {
    do throws(IdentityError) {
        return try Identity.loadOrCreate()
    } catch {
        throw Complaint(sentence: error.description, status: .failed)
    }
}
