package import Admission
import HTTP
package import Identifiers
import Signaling

/// Asks a service for its own description.
package enum ServiceLookup {
    /// Reads a service's link, and asks the service for its name, its fields and its terms.
    package static func describe(_ text: String) throws(CommandError) -> (ServiceLink, ServiceDescription) {
        let link: ServiceLink
        do throws(LinkError) {
            link = try ServiceLink(parsing: text)
        } catch {
            throw CommandError(error)
        }
        do throws(PairingFailure) {
            let client = try ServiceClient(link: link)
            defer { blocking { await client.close() } }
            return (link, try blocking(throwing: client.describe))
        } catch {
            throw CommandError(sentence: "\(error)", status: error.status)
        }
    }
}
