/** Replays what a kube-apiserver 1.36.3 said of objects that are right but for one field: each is
 *  decoded, prepared and checked, and has to get the same status and causes. The answers are a
 *  sample of those to some 15000 such objects; rows/ has most of them by rule. */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { errorsOf } from '../../support/rules/validated.ts'

interface Answer {
  readonly path: string
  readonly object: { readonly kind: string }
  /** Object before an update. */
  readonly old?: object
  readonly status: number
  readonly causes?: readonly (readonly string[])[]
}

const file = 'test/writes/validation/answers.json.gz'
async function causesOf(answer: Answer): Promise<string[][]> {
  const errors = await errorsOf(answer)
  const causes = errors.map(({ field, reason, message }) => [field, reason, message])
  return causes.sort((a, b) => (a.join() < b.join() ? -1 : 1))
}

/** The text without the lines that a kube-apiserver adds where fields may not change: the
 *  difference between two prints of its internal structs. We have none. */
function withoutDifference(text: string): string {
  return text.replace(/\n@@ -[^]*$/, '')
}

t.test('invalid objects get the causes that kube-apiserver gives', async t => {
  const answers = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Answer[]
  const differences: object[] = []
  for (const answer of answers) {
    const { path, object, causes = [] } = answer
    const ours = JSON.stringify(await causesOf(answer))
    const theirs = JSON.stringify(causes.map(cause => cause.map(withoutDifference)))
    if (ours !== theirs) differences.push({ path, object: JSON.stringify(object), ours, theirs })
  }
  t.ok(answers.length > 1000)
  t.strictSame(differences.slice(0, 5), [])
})
