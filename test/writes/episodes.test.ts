/** Episodes of writes, each in a namespace of its own, with all plugins of admission: what a
 *  kube-apiserver 1.36 answered to each step, and we have to. They were chosen out of many random
 *  ones because each tells other mutants of rules from the program (test/support/mutants). */

import t from 'tap'
import { AskedWorld } from '../support/kube/writes/asked-world.ts'
import { answersTo, type Episode, plainAnswer } from '../support/kube/writes/episode.ts'
import { recorded } from './recorded/load.ts'

const episodes = recorded('episodes').map(line => JSON.parse(line) as Episode)

for (const area of new Set(episodes.map(episode => episode.area))) {
  t.test(`${area}: what a kube-apiserver answers`, async t => {
    for (const { steps } of episodes.filter(episode => episode.area === area)) {
      const world = new AskedWorld()
      const answers = await answersTo(steps, step => world.ask(step))
      for (const [i, step] of steps.entries()) {
        const { status, warnings = [], answer = null } = step
        const ours = answers[i]
        const body = answer === null ? null : ours?.body
        const [got, wanted] = [
          plainAnswer([ours?.status, ours?.warnings.toSorted(), body]),
          plainAnswer([status, warnings.toSorted(), answer]),
        ]
        if (got !== wanted) t.equal(got, wanted, JSON.stringify(steps.slice(0, i + 1)))
      }
    }
    t.pass()
  })
}
