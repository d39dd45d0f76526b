import t, { type Test } from 'tap'
import { rbacOf } from '../support/http/rbac.ts'
import { startServed } from '../support/http/served.ts'
import { type AskedExchange, Asker, differenceOf, readAsked, tokens } from './asked.ts'

/** Answers that are not as they were recorded, and why that is right. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-adm-1422': 'logs of pods: there is no kubelet',
  'pub-adm-1397':
    'a token is void at once when its account has gone, and there only after some seconds',
  'pub-adm-1398': 'keys of service accounts are not published',
  'pub-adm-1420':
    'the manager of what a server makes at its start is the server, without a version',
  'pub-adm-1433': 'the commit of the recorded server',
}

/** The order of rules in a review is that of a map in Go. */
function inOrder(text: string): string {
  if (!text.includes('"resourceRules"')) return text
  const review = JSON.parse(text) as { status: Record<string, unknown[]> }
  for (const name of ['resourceRules', 'nonResourceRules']) {
    review.status[name]?.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  }
  return JSON.stringify(review)
}

async function replay(t: Test, asked: readonly AskedExchange[]): Promise<void> {
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf(tokens),
  })
  const asker = new Asker(served)
  const failures: string[] = []
  let count = 0
  for (const exchange of asked) {
    const { id, response, description } = exchange
    // Certificates of the recording are not kept: identity.test.ts has them.
    if (exchange.client_certificate !== undefined) continue
    const answer = await asker.ask(exchange)
    const difference = differenceOf(
      { ...answer, body: Buffer.from(inOrder(answer.body.toString())) },
      { ...exchange, response: { ...response, body: inOrder(response.body ?? '') } },
    )
    if (difference === undefined) count++
    else if (exceptions[id] === undefined) failures.push(`${id} ${description}: ${difference}`)
  }
  t.comment(`${count} of ${asked.length} alike`)
  t.strictSame(failures, [])
}

t.test('a kube-apiserver and we say alike who may do what', async t => {
  await replay(t, readAsked('access/exchanges.jsonl.gz'))
})
