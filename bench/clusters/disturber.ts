/** Clients of one cluster that the others should not feel, in a process of their own: `attacked`
 *  asks what costs the most and was never asked before, `listed` reads all pods without a pause. */

import { Http1Client } from '../list/http1-client.ts'

const [, , what = '', port = ''] = process.argv
const clients = { attacked: 16, listed: 4 }[what] ?? 0
const pods = '/clusters/heavy/api/v1/pods'
const views = '/clusters/heavy/views/api/v1/pods'

/** Each with a text of its own, so that nothing is kept for the next one. */
const attacks: readonly ((text: string) => string)[] = [
  text => `${pods}?labelSelector=${text}=a`,
  text => `${pods}?fieldSelector=spec.nodeName=${text}`,
  text => `${pods}?limit=1&continue=${text}`,
  text => `${views}?search=${text}&sort=-age`,
  text => `${views}?countBy=labels.${text}`,
  text => `${pods}?watch=1&timeoutSeconds=1&labelSelector=${text}=a`,
  text => `/clusters/heavy/${text}`,
]

let asked = 0

async function ask(): Promise<never> {
  let client = await Http1Client.connect(Number(port))
  for (;;) {
    asked++
    const attack = attacks[asked % attacks.length]
    const path = what === 'listed' ? pods : (attack?.(`x${asked}`) ?? pods)
    try {
      await client.get(path, {})
    } catch {
      // Whoever attacks too much is cut off, and comes again.
      client = await Http1Client.connect(Number(port))
    }
  }
}

process.on('disconnect', () => process.exit())
for (let i = 0; i < clients; i++) void ask()
process.send?.('begun')
