/** CronJobs: a schedule, and the template of a Job. */

import type { Place } from '../../validation/place.ts'
import { hasChanged, ofPodName } from '../../warnings/templates.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkSchedule, checkTimeZone } from './cron-job/schedules.ts'
import { checkJobSpec, ofJob } from './job/spec.ts'

export const cronJob: BuiltInKind = kind({
  group: 'batch',
  kind: 'CronJob',
  plural: 'cronjobs',
  hasStatus: true,
  counted: ['spec'],
  podSpec: ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
  hasFreeStatusMetadata: true,
  validateCreate: object => {
    checkCronJob(object.in('spec'))
    const name = object.in('metadata', 'name')
    if (name.text.length > 52) name.invalid('must be no more than 52 characters')
  },
  validateUpdate: (object, old) => checkCronJob(object.in('spec'), old.in('spec')),
  warn: (object, old) => [
    ...(old === undefined ? ofPodName(object) : []),
    ...ofJob(object.in('spec', 'jobTemplate', 'spec'), hasChanged(object, old)),
    ...ofSchedule(object, old),
  ],
})

function checkCronJob(spec: Place, old?: Place): void {
  const [schedule, zone] = [spec.in('schedule'), spec.in('timeZone')]
  const mayNameZone = old?.in('schedule').text.includes('TZ') ?? false
  if (schedule.text === '') schedule.required()
  else checkSchedule(schedule, zone, mayNameZone)
  spec.in('startingDeadlineSeconds').notNegative()
  if (old === undefined || old.in('timeZone').value !== zone.value) checkTimeZone(zone)
  spec.in('concurrencyPolicy').oneOf(['Allow', 'Forbid', 'Replace'], 'required')
  const job = spec.in('jobTemplate', 'spec')
  checkJobSpec(job, old?.in('jobTemplate', 'spec'))
  const [selector, manual] = [job.in('selector'), job.in('manualSelector')]
  if (selector.isSet) selector.invalid('`selector` will be auto-generated')
  if (manual.isTrue) manual.notSupported(['nil', 'false'])
  spec.in('successfulJobsHistoryLimit').notNegative()
  spec.in('failedJobsHistoryLimit').notNegative()
}

function ofSchedule(object: Place, old: Place | undefined): string[] {
  return old !== undefined && object.in('spec', 'schedule').text.includes('TZ')
    ? [
        'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
      ]
    : []
}
