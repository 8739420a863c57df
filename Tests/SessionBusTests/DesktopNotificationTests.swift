import Foundation
import Testing

@testable import SessionBus

@Suite(.serialized, .timeLimit(.minutes(1)))
struct DesktopNotificationTests {
    @Test func notificationIsShownReplacedAndClosed() throws {
        let service = try NotificationService()
        let notification = try #require(DesktopNotification(address: service.address))
        #expect(notification.show(summary: "\"Ann\" wants to watch", body: "<b>a & b</b>", expires: 1_000))
        #expect(notification.show(summary: "\"Bob\" wants to watch", body: "", expires: 1_000))
        notification.close()
        notification.close()
        #expect(
            service.calls(3) == [
                .init(
                    method: "Notify", identifier: 0, summary: "\"Ann\" wants to watch",
                    body: "&lt;b&gt;a &amp; b&lt;/b&gt;"),
                .init(method: "Notify", identifier: 7, summary: "\"Bob\" wants to watch"),
                .init(method: "CloseNotification", identifier: 7),
            ])
    }

    @Test(arguments: ["unix:path=/nonexistent/bus", "nonsense", "", "autolaunch:"])
    func missingBusIsNoError(_ address: String) {
        #expect(DesktopNotification(address: address)?.show(summary: "x", body: "", expires: 1) != true)
    }

    @Test func serviceThatNeverAnswersEndsTheCallAfterSeconds() throws {
        let service = try NotificationService(isSilent: true)
        let notification = try #require(DesktopNotification(address: service.address))
        #expect(!notification.show(summary: "x", body: "", expires: 1))
        #expect(service.calls(1).count == 1)
    }
}
