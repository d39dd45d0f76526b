/** The messages between the processes of this bench. */

/** To the source: encode so many changes, behind those that it has poured. */
export interface PrepareOrder {
  readonly type: 'prepare'
  readonly changes: number
}

/** To the source: pour what is prepared; as fast as it is taken, if no rate is given. */
export interface PourOrder {
  readonly type: 'pour'
  readonly perSecond?: number | undefined
}

export interface PourReport {
  readonly changes: number
  readonly bytes: number
  readonly ms: number
  /** The revision of the last change. */
  readonly revision: number
}

/** To the server: begin or end a profile of the processor, and watch its turns. */
export interface ProfileOrder {
  readonly type: 'profile'
  readonly isOn: boolean
}

export interface ProfileReport {
  /** The processor's time by stage, in milliseconds. */
  readonly stages: ReadonlyMap<string, number>
  readonly turnMaxMs: number
}
