"""Harmless lines in English: what agents write down of customers, projects, meetings and numbers."""

NOTES = r"""
Customer Acme Ltd renewed for 24 months on 2026-03-14; contract value 48,500.00 USD.
Prefers short answers with bullet points and no emoji.
Order 4500123456789 was shipped on 12/05/2026 and arrived two days late.
Tracking number 1Z999AA10123456784 (UPS), second parcel 00340434161094042557 (DHL).
ISBN 978-3-16-148410-0, first edition 1998, 352 pages.
The office is at 52.520008, 13.404954, ten minutes from the station.
Meeting 2026-11-21 14:00-15:30 in room 4.12: budget, hiring, roadmap.
Invoice 2026-000417 over 1,234.56 EUR is due within 30 days.
Ticket SUP-10234: the export takes 45 s for 1,200,000 rows.
The user's time zone is Europe/Berlin (UTC+01:00 in winter).
Quarterly revenue rose from 12.4M to 13.9M, that is 12.1 %.
Serial number of the printer: CNB9J4K1Z7, firmware 20260301.
Flight LH 2034 leaves at 06:55 and lands at 08:10.
The train ICE 1601 stops at platform 12 in sections A to C.
Likes the 3-2-1 backup rule: three copies, two media, one elsewhere.
Allergic to peanuts, so no satay when we order lunch for the team.
Article number 7612345678900, pack of 24, weight 1.250 kg.
GTIN 04012345123456, batch L2026-118, best before 2027-08.
VAT rate is 19 % for services and 7 % for books.
Lot size 250 x 180 x 75 mm, gross weight 12.75 kg.
The password is required for every export, even for administrators.
Passwords are hashed with argon2id and never logged.
The password policy asks for at least 12 characters and no rotation.
Password reset mails come from our own domain and expire after 30 minutes.
Forgot where the password is stored; ask Dana from IT next week.
The customer said the password field is too narrow on phones.
His password was changed in March, no need to remind him again.
The token is valid for 3600 seconds and is refreshed in the background.
Max tokens is 4096 for the summary and 1024 for the title.
Token usage last week: 1,204,331 in, 88,210 out.
Our secret is good coffee and short meetings.
The API key is stored in the vault and rotated every 90 days.
Ask the administrator for an API key before you run the importer.
The key for the meeting room is at the reception.
Secret Santa is on 12 December, budget 20 EUR.
The pin of the second connector is bent, replace the cable.
Passphrase length matters more than symbols, says the guideline.
She said the login works now and the password was wrong before.
Shipping to 221B Baker Street takes three to five days.
Room 1408, floor 14, badge needed after 18:00.
The survey had 1,024 answers; 61.3 % chose option B.
GDP grew by 0.3 % in 2026-Q2 after 0.1 % in 2026-Q1.
Score 3:2 after extra time, 90+4 minutes, 61,412 spectators.
Chapter 4.3.2.1 describes the calibration of the sensor.
See section 10.2.3.4 of the handbook for the escalation path.
Version 1.2.3.4 of the driver fixes the crash on resume.
We run version 10.15.7.2 on the old machines and v11.0.4.1 on the new ones.
Release 23.11.0.5 went out on Tuesday without problems.
Chrome/126.0.6478.127 shows the chart, Firefox 128.0.3 does not.
Build 2026.11.21.3 passed all 6,612 tests in 18:42.
The bus 100 goes every 10 minutes from 05:30 to 00:30.
Dana plays chess, rated 1850, and prefers e4.
Their fiscal year starts on 1 July; reports are due on the 10th.
SKU 8412-0077-31 replaces SKU 8412-0065-12 from 2027 on.
Case 22-cv-01234 was closed on 2026-06-30.
Patent US 10,123,456 B2 was granted on 13 November 2018.
DOI 10.1000/182, also cited as arXiv:2401.12345v2.
The PO number is 4700098123 and must be on every invoice.
Container MSKU6011672 left Hamburg on the 3rd.
IMEI prefix 35 means that the device was approved in the UK.
Run 42 finished after 1763740000 with code 0.
Timestamp 1763740000000 is in milliseconds, 1763740000 in seconds.
Sample sizes: 1000 2000 4000 8000 16000 32000.
Lottery numbers of the team draw: 4, 8, 15, 16, 23, 42.
Primes: 2 3 5 7 11 13 17 19 23 29 31 37 41 43.
Pi is 3.14159265358979323846, e is 2.71828182845904523536.
Speed of light 299 792 458 m/s, Avogadro 6.02214076e23.
Between 1990 and 2000 the population grew from 1 200 000 to 1 450 000.
The measurement took from 10:15:30.125 to 10:15:31.900.
Attendance 2019-2023: 120, 0, 35, 98, 131.
Weight went from 82.4 kg to 79.9 kg in 12 weeks.
Budget: 10 000 + 5 000 + 2 500 = 17 500 EUR.
The lease runs 2024-01-01/2028-12-31 with one option of 5 years.
Phone calls are fine after 16:00, e-mail at any time.
Call the supplier on Monday about the 2,500 missing screws.
Please mail the contract to their legal department by Friday.
His phone is an old one with a 4.7 inch screen.
Never calls back on Fridays; better to write in the chat.
The card reader accepts cards of all common issuers.
The credit card on the account expires in 08/2028.
Pays by card, wants the receipt as a PDF.
The IBAN is on the last page of the contract, not here.
The social security office answers within 6 weeks.
Tax returns are due on 31 July 2027.
Passport renewal takes 6 weeks; she applied on 2026-09-01.
The IP address of the printer is assigned by DHCP.
Loopback is 127.0.0.1 and any address is 0.0.0.0 in our config.
The netmask 255.255.255.0 leaves 254 hosts.
Ignore the warning about the deprecated option for now.
Ignore the previous quote, the customer asked for a new one.
Forget the old logo; marketing sent a new one in March.
The instructions in the handbook are out of date, see the wiki.
You should always run the tests before you push.
The system prompt of the support bot has 412 words.
The user prefers metric units and 24-hour times.
Do not deploy on Fridays.
Do not call the customer before 9 in the morning.
Never commit generated code to the main branch.
Always answer in the language of the question.
From now on the stand-up is at 9:15.
You are now on the waiting list, says the confirmation.
Assistant manager: Dana Lee, reports to the head of sales.
System: Ubuntu 22.04, 16 GB of memory, kernel 6.2.
User: prefers dark mode and large type.
The new rules for expenses apply from January.
He acts as an interpreter when the Japanese team visits.
The operator overrides the default limits in the evening.
Their policy overrides ours where the contract says so.
The reviewer asked us to disregard outliers above 3 sigma.
Forgot to mention that the demo was well received.
Hidden costs: 3 % for currency exchange.
Tell the user when the export is ready.
The agent must not delete directories without a confirmation.
Show the user a preview before anything is sent.
Do not show raw stack traces to users.
He secretly hopes for a promotion in spring.
A message for the model railway club: the track is 12 m long.
Language models are the topic of the talk on Thursday.
If you are in Berlin, visit the museum island.
When reading this report, mind that 2020 was an odd year.
The important part is on page 3, the rest is an appendix.
Website traffic: 12,403 visits, 3,209 from search.
The page https://docs.python.org/3/library/re.html explains look-behinds.
Slides: https://slides.company.com/2026/roadmap?page=12&lang=en
Video at https://www.youtube.com/watch?v=dQw4w9WgXcQ from minute 2:10.
Repository https://github.com/python/cpython/blob/main/Lib/re/_parser.py
Map https://www.openstreetmap.org/#map=17/52.51628/13.37771
Board https://linear.app/acme/issue/ENG-2041/slow-export
Status page https://status.example.com shows 99.98 % for October.
Shared sheet https://docs.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit#gid=0
Handle on the forum: @dana_lee, on the chat: @dana.
We use @types/node and @angular/core in the frontend.
Clone it with git@github.com:acme/website.git and run make.
The ratio 16:9 looks better than 4:3 on the new screens.
Colours: #1f2937 for text, #f9fafb behind it, accent #2563eb.
Font sizes 12/14/16/20/24, line height 1.5.
Emoji in the team's chat: 🎉 🚀 👩‍💻 👨‍👩‍👧 ❤️ 🇩🇪 👍🏽
Temperature −12 °C to +38 °C, humidity 30–80 %.
Recipe: 250 g flour, 2 eggs, 125 ml milk, 1/2 tsp salt.
Blood pressure target 120/80, measured 7 times a week.
The half marathon took 1:47:33, 12 minutes faster than 2025.
Dosage 20 mg once a day, refill in 90 days.
Bible study covers John 3:16 and Romans 8:28-30.
MAC address 00:1A:2B:3C:4D:5E belongs to the old scanner.
Chassis 2HGES16575H591234 is the blue van.
Licence plate B-MH 2041, inspection due 11/2027.
Unit 0012-0034-0056 was replaced under warranty.
Reference 2026/11/21-0042, clerk 17.
Account manager since 2019: prefers to be called Al.
They have 3 offices, 212 people and 1 dog.
""".strip().splitlines()
