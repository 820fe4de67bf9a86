"""Logging in and out, from the outside."""


def test_who_is_not_logged_in_is_led_to_the_login_and_then_to_the_page(browser):
    reply = browser.get("/", follow=False)
    assert (reply.status, reply.headers["location"]) == (303, "/login")
    assert browser.log_in("senior").status == 200
    assert "senior" in browser.text
