"""Harmless lines of code, configuration, logs and identifiers."""

CODE = r"""
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
git revert 3f786850e387550fdab836ed7e6dc881de23001b
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
MD5 (release.tar.gz) = d41d8cd98f00b204e9800998ecf8427e
id: 123e4567-e89b-12d3-a456-426614174000
request_id=req_011CSHoEeqs5C35K2UUqR7Fy status=200 duration=0.214
mem_01JCYQ0V5XJ3N8M2D4T6W8Z1A3 was renamed by agent_01JCYPZZ2K4M6P8R0T2V4X6Z8B
toolu_01A09q90qw90lq917835lq9 returned an error
integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxM0v5c1Jm2T7u0B9yqk4eZ8nWQ3rVfXh6sLdPtYaUo deploy key, public half
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
password = getpass.getpass()
password = os.environ["DB_PASSWORD"]
password: ${DB_PASSWORD}
password: {{ vault_db_password }}
PASSWORD=$(cat /run/secrets/db)
DB_PASSWORD=<your password>
POSTGRES_PASSWORD: "********"
password: str = Field(min_length=12)
password: Optional[str] = None
password: string
"password": "string",
"password": null,
password = models.CharField(max_length=128)
password_min_length: 12
if password == other.password:
if (password !== confirmPassword) return false;
const password = await prompt("Password: ");
label: "Password", type: "password"
passwordHash = bcrypt.hash(password, 12)
<input type="password" name="password" autocomplete="current-password">
self.password = password
user.set_password(password)
def login(username: str, password: str) -> Session:
token = tokenizer.next()
token: Token
const token = await getToken(user.id);
token = request.headers["Authorization"]
max_tokens=4096, temperature=0.2
"max_tokens": 1024, "model": "claude-sonnet-4-5"
csrf_token = get_token(request)
next_page_token: null
token_count: 1523
token_type: bearer
secretName: db-credentials
secret: false
secretKeyRef: {name: db, key: url}
SECRET_KEY = env("SECRET_KEY")
api_key = os.getenv("ANTHROPIC_API_KEY")
ANTHROPIC_API_KEY=sk-ant-...
export OPENAI_API_KEY="sk-..."
x-api-key: $ANTHROPIC_API_KEY
Authorization: Bearer $TOKEN
Authorization: Bearer mh_…
aws_access_key_id = AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = <secret>
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
//registry.npmjs.org/:_authToken=${NPM_TOKEN}
postgres://user:password@localhost:5432/db
DATABASE_URL=postgres://${PGUSER}:${PGPASSWORD}@db/app
redis://localhost:6379/0
amqp://broker:5672/%2F
mysql://db.internal:3306/shop?charset=utf8mb4
http://localhost:8000/healthz
https://api.github.com/repos/{owner}/{repo}/pulls/{number}
curl -s https://api.github.com/repos/python/cpython/releases?per_page=5
fetch(`https://api.weather.com/v1/forecast?city=${city}&days=3`)
url = f"https://search.company.com/?q={query}&page={page}"
![build](https://img.shields.io/badge/build-passing-green.svg)
![diagram](images/architecture.png)
[docs](https://docs.djangoproject.com/en/5.2/topics/db/queries/#filtering)
https://www.example.com/path/to/page.html?id=42
user = User.objects.get(email=email)
@dataclass(frozen=True, slots=True)
@app.get("/users/{user_id}")
@media (max-width: 390px) { .tabs { flex-wrap: wrap } }
npm install @babel/core@7.24.0 @types/node@20.11.5
pip install django==5.2.8 psycopg[binary]==3.2.3
go get golang.org/x/text@v0.14.0
docker pull postgres:15.6-alpine3.19
image: ghcr.io/acme/hub@sha256:9b2c1f0e4d8a7b6c5e3f2a1d0c9b8e7f6a5d4c3b2e1f0a9d8c7b6e5f4a3d2c1b
FROM python:3.11.7-slim-bookworm AS build
kubectl get pods -n prod -l app=web --field-selector=status.phase=Running
std::vector<std::string>::iterator it = names.begin();
use std::collections::{BTreeMap, HashMap};
crate::protocol::paths::from_tool(value)?
a::before { content: "" } a::after { content: "→" }
time 12:34:56, offset +02:00, epoch 0
2026-11-21T14:05:33.123456+00:00 INFO hub.audit appended entry 48213
[2026-11-21 14:05:33,123] WARNING slow query: 1203 ms
Nov 21 16:05:11 web1 systemd[1]: Started hub.service.
Traceback (most recent call last): line 214, in execute
  at com.acme.shop.OrderService.place(OrderService.java:214)
#0 0x00007f8b1c2d3e4f in malloc () from /lib/x86_64-linux-gnu/libc.so.6
Segmentation fault at address 0x7ffd5e8a9b10, ip 00005581a2b3c4d5
panic: runtime error: index out of range [5] with length 3
TypeError: unsupported operand type(s) for +: 'int' and 'str'
E       assert 41 == 42
diff --git a/hub/views.py b/hub/views.py
index 83db48f..bf2a1c9 100644
@@ -120,7 +120,9 @@ def execute(store, use):
--- a/README.md 2026-11-20 10:00:00
+1234567 insertions(+), 89 deletions(-)
SELECT id, total FROM orders WHERE created_at >= '2026-01-01' LIMIT 100;
INSERT INTO items VALUES (1001, 'screw', 0.05), (1002, 'nut', 0.04);
CREATE INDEX orders_by_day ON orders (store_id, created_at);
Postgres 15.6 on x86_64-pc-linux-gnu, compiled by gcc 12.2.0
User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0.6478.127 Safari/537.36
nginx/1.25.3, OpenSSL/3.0.13, libc 2.36
AssemblyVersion("4.8.9037.0")
file version 10.0.19041.3636
net.ipv4.ip_forward = 1
PermitRootLogin no, PasswordAuthentication no
listen 0.0.0.0:8000 and [::1]:8000
const MAX = 9007199254740991;
uint64 18446744073709551615, int32 2147483647
double x = 0.1234567890123456789;
seed = 1234567890123456
snowflake 1234567890123456789 is a channel
build 20261121.4, artifact 3141592653
rgb(31, 41, 55) and rgba(0, 0, 0, 0.12)
M12 2C6.48 2 2 6.48 2 12s4.48 10 10 10 10-4.48 10-10S17.52 2 12 2z
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4
data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7
ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
X-Amz-Content-Sha256: UNSIGNED-PAYLOAD
getUserAuthenticationTokenProviderFactoryBean()
AbstractSingletonProxyFactoryBeanConfigurationException
/usr/lib/python3/dist-packages/django/contrib/admin/templates/admin/base.html
src/main/java/com/acme/shop/checkout/PaymentGatewayConfiguration.java
C:\Users\Public\Documents\reports\2026\november.xlsx
arn:aws:s3:::acme-prod-backups/2026/11/21/dump.sql.gz
projects/acme-prod/locations/europe-west3/keyRings/main/cryptoKeys/backup
^(?:[0-9]{3}-){2}[0-9]{4}$
re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+")
for (let i = 0; i < 10; i++) { total += prices[i] * 1.19; }
x = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233]
assert add(2, 2) == 4 and add(-1, 1) == 0
return {"ok": True, "count": 12, "next": None}
{"type":"tool_use","name":"memory","input":{"command":"view","path":"/memories"}}
{"role": "user", "content": "What is on my list for today?"}
messages=[{"role": "system", "content": prompt}]
cron: 30 4 * * 1-5 /usr/local/bin/backup --keep 14
chmod 0640 /etc/hub/settings.toml && chown root:hub /etc/hub/settings.toml
rsync -av --delete build/ web1:/srv/www/
ssh deploy@web1 uptime
scp report.pdf backup@nas:/volume1/reports/
terraform plan -var-file=prod.tfvars -out=plan.bin
make test PYTEST="-k sensitive -x"
.gitignore: node_modules/ dist/ *.log .env
eslint rule: ignore all generated directories, keep the rules for tests
# noqa: E501 ignore the previous line's length
"ignorePatterns": ["dist", "build"], "rules": {"no-console": "off"}
<system.web><compilation debug="false" /></system.web>
<user>/<repo>, for example acme/website
Usage: hub issue_key AGENT (--store ID | --all-stores) [--access read|write|manage]
[INFO] 3 tests, 0 failures [INSTALL] done
#!/usr/bin/env bash
printf '%s\n' "${items[@]}" | sort -u | head -n 20
0xDEADBEEF 0xCAFEBABE 0b1010 0o755
lat=48.8583701&lon=2.2944813&zoom=17
gs_1.2.3.4-rc.1+build.5 is not a valid tag
helm upgrade web chart/ --set image.tag=2.14.0 --version 1.4.0.2
kernel 5.15.0-91-generic #101-Ubuntu SMP
AWS region eu-central-1, account alias acme-prod
ISO week 2026-W47, day 325, julian 2461366
Cache-Control: max-age=31536000, immutable
Content-Length: 1234567
Set-Cookie: theme=dark; Path=/; Max-Age=31536000; SameSite=Lax
border-radius: 0.375rem; transition: 150ms cubic-bezier(0.4, 0, 0.2, 1)
eyJ is how the base64 of a JSON object begins
the prefix ghp_ marks personal tokens, xoxb- those of bots
sk-ant-api03- is followed by about 95 characters
""".strip("\n").splitlines()
