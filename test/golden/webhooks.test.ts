import t, { type Test } from 'tap'
import { freePort } from '../support/program/ports.ts'
import { rbacOf } from '../support/http/rbac.ts'
import { startServed } from '../support/http/served.ts'
import { Asker, differenceOf, masked, readAsked, tokens } from './asked.ts'
import { firstDifference, Table } from './replay.ts'
import { type HookedExchange, startWebhookServer } from './webhook-server.ts'

/** Answers that are not as they were recorded, and why that is right. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-adm-1010': 'redirects are not followed: they lead where nobody has allowed',
  'pub-adm-1063': 'nothing is executed in pods',
}

for (const name of ['webhooks', 'more-webhooks']) {
  t.test(`${name} are asked what a kube-apiserver asks, and obeyed as by one`, async t => {
    await replay(t, `admission/${name}.jsonl.gz`)
  })
}

async function replay(t: Test, file: string): Promise<void> {
  const server = await startWebhookServer(t)
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf(tokens),
    webhooks: { services: new Map(), hosts: undefined },
  })
  const asker = new Asker(served, {
    webhook: server.address,
    ca: Buffer.from(server.authority).toString('base64'),
    otherca: Buffer.from(server.authority).toString('base64'),
    closed: `127.0.0.1:${await freePort()}`,
  })
  const failures: string[] = []
  const table = new Table()
  for (const exchange of readAsked<HookedExchange>(file)) {
    const { id, description, webhook_calls: calls = [] } = exchange
    server.expect(calls)
    const difference =
      differenceOf(await asker.ask(exchange), exchange) ?? bodiesDiffer(calls, server.received)
    const outcome =
      difference === undefined ? 'passed' : exceptions[id] === undefined ? 'failed' : 'excepted'
    table.add('webhooks', outcome)
    if (outcome === 'failed') failures.push(`${id} ${description}: ${difference}`)
  }
  for (const line of table.lines()) t.comment(line)
  t.strictSame(failures, [])
}

t.test('objects are converted by webhooks as by a kube-apiserver', async t => {
  const server = await startWebhookServer(t)
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf(tokens),
    webhooks: { services: new Map(), hosts: undefined },
  })
  const ca = Buffer.from(server.authority).toString('base64')
  const asker = new Asker(served, { webhook: server.address, ca })
  const failures: string[] = []
  const table = new Table()
  for (const exchange of readAsked('admission/conversion.jsonl.gz')) {
    const { id, area, description } = exchange
    const difference = differenceOf(await asker.ask(exchange), exchange)
    table.add(area, difference === undefined ? 'passed' : 'failed')
    if (difference !== undefined) failures.push(`${id} ${description}: ${difference}`)
  }
  for (const line of table.lines()) t.comment(line)
  t.strictSame(failures, [])
})

type Received = readonly { readonly path: string; readonly body: string }[]

/** The first difference of what webhooks received; undefined if there is none. */
function bodiesDiffer(
  calls: NonNullable<HookedExchange['webhook_calls']>,
  received: Received,
): string | undefined {
  const sorted = (all: Received): string =>
    all
      .map(({ path, body }) => `${path} ${masked(body)}`)
      .sort()
      .join('\n')
  const [ours, theirs] = [
    sorted(received),
    sorted(calls.map(({ path, request }) => ({ path, body: request.body }))),
  ]
  return ours === theirs ? undefined : `received ${firstDifference(ours, theirs)}`
}
