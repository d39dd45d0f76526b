import t from 'tap'
import { rbacOf } from '../support/http/rbac.ts'
import { moment } from '../support/http/moment.ts'
import { startServed } from '../support/http/served.ts'
import { type AskedExchange, Asker, masked, readAsked, tokens } from './asked.ts'

/** The parts of an event that do not depend on when and by whom it was recorded. */
interface AuditEvent {
  readonly verb: string
  readonly user: object
  readonly impersonatedUser?: object
  readonly objectRef?: Readonly<Record<string, string>>
  readonly responseStatus: object
  readonly annotations?: Readonly<Record<string, string>>
}

interface AuditedExchange extends AskedExchange {
  readonly audit: AuditEvent
}

function plain(event: AuditEvent | undefined): string {
  const { verb, user, impersonatedUser, objectRef, responseStatus, annotations } = event ?? {}
  const { uid: _, resourceVersion: __, ...ref } = objectRef ?? {}
  // Ours are beside those of a kube-apiserver.
  const noted = Object.entries(annotations ?? {})
    .filter(([name]) => !/^watchglass\/|latency/.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return masked(
    JSON.stringify({ verb, user, impersonatedUser, ref, responseStatus, annotations: noted }),
  )
}

t.test('the audit log says what that of a kube-apiserver says', async t => {
  const events: AuditEvent[] = []
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf(tokens),
    admission: { enabled: [], disabled: [] },
    audit: () => ({ write: line => events.push(JSON.parse(line) as AuditEvent) }),
  })
  const asker = new Asker(served)
  for (const exchange of readAsked<AuditedExchange>('admission/audit.jsonl.gz')) {
    const known = events.length
    await asker.ask(exchange)
    while (events.length === known) await moment()
    t.equal(plain(events.at(-1)), plain(exchange.audit), exchange.id)
  }
})
