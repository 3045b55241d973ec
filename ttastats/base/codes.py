"""Which codes can a user meet, when, what to do about it, and in which words are they shown?

The one table of the English of notes, flags and problems: whoever edits a text edits it here. A
line is a sentence, however long. `docs/codes.md` is made from it (tests/test_codes.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct


class Row(Struct, frozen=True):
    """Some codes, separated by spaces, that mean the same.

    `applies_to` is the commands that have a note, or the severity of a problem; `meaning` says when
    it appears and what to do about it. `texts` are templates with {named} fields (see
    `note.wording`), of several by keys that are the code alone or have more behind a dot. Texts of
    the statistics and of the parsers stand where they are found. `short` is the few words for it on
    a page and a screen, `advice` what a screen adds to them, and `condition` those behind a verdict
    that it qualifies.
    """

    codes: str
    applies_to: str
    meaning: str
    texts: str | Mapping[str, str] = ""
    short: str = ""
    condition: str = ""
    advice: str = ""


# fmt: off

FILES = (
    Row("ambiguous_dialect", "error", "Two installed formats recognise the file. Remove a plugin, or describe the file in a `ttastats.toml`."),
    Row("changed_file", "warning", "The file changed while it was read. Ingest again."),
    Row("dialect_failed", "error", "The parser of this format failed on this file. Please report it, with the file."),
    Row("document", "error", "A document given explicitly, such as a Markdown logbook: give the logs it is about."),
    Row("duplicate_run", "warning", "The run has the same content as another one. It counts once.",
        "duplicate of {first_source}{where}{here}"),
    Row("large_file", "warning", "`guess` read only the first part of the file."),
    Row("lfs_pointer", "error, info", "The file is a Git LFS pointer: run `git lfs pull`. `info` if it may not be a log."),
    Row("not_a_run", "info", "The file has lines of a known format but is not the log of a run."),
    Row("missing_run", "warning", "A run is missing from a numbered set of files or seeds. Rows of its entry say so."),
    Row("not_like_its_set", "error", "A file is not a log, though most files of its numbered set are: empty or damaged."),
    Row("other", "info", "Count of further problems of the same kind."),
    Row("part_of_a_run", "info", "The file contains a part of a run that another file contains completely."),
    Row("trace", "info", "A profiler trace among logs. To get a profile, ingest it separately."),
    Row("truncated_trace", "warning", "The trace is truncated. Everything before the end is read."),
    Row("damaged_events", "warning", "Some events of the trace cannot be read."),
    Row("counted_instructions", "info", "Events that count instructions instead of time are ignored."),
    Row("unknown_format", "error", "A file given explicitly has an unknown format. `ttastats guess` proposes how to read it."),
    Row("unreadable_file", "error", "The file cannot be opened, decompressed or decoded, is larger than its [limit](../SECURITY.md#limits), or does not fit into memory; or several members of an archive have one name."),
    Row("unused_block", "info", "No file matches the `files` pattern of a block in `ttastats.toml`."),
)

BENCHMARKS = (
    Row("bad_description", "warning", "The JSON beside a DAWNBench table is invalid."),
    Row("bad_system_file", "warning", "The description of the system is not JSON, or larger than 1 MB: hardware is unknown."),
    Row("benchmark_mismatch", "warning", "Log and folder name different benchmarks: the log is used."),
    Row("round_mismatch", "warning", "Lines and folder are of different rounds: the lines are used."),
    Row("exception", "warning", "An exception or a lost worker ended the run: it counts as failed. The message is the reason in the log."),
    Row("no_curve", "warning", "A DAWNBench description without its table."),
    Row("no_description", "warning", "A DAWNBench table without its JSON, or an MLflow folder without its run."),
    Row("no_energy", "warning", "The power log does not cover the run: its energy is unknown."),
    Row("no_evaluation", "warning", "The run has no evaluation: it counts as failed.",
        "no evaluation was logged; the run counts as failed"),
    Row("no_header", "error", "The table has no header: no run is read."),
    Row("no_run_start", "error", "Evaluations or an end, but no readable `run_start`: no run is read."),
    Row("no_run_stop", "warning", "The log ends before `run_stop`, or `run_stop` is before `run_start`: the run is truncated and counts as failed."),
    Row("no_status", "info", "`run_stop` has no status: the target decides."),
    Row("no_system_file", "info", "No description of the system: hardware is unknown."),
    Row("no_target", "warning", "No quality target is known: the status of the log decides. Set the round with `--round`."),
    Row("rank_copies", "info", "Other ranks logged the same evaluations: one of each counts."),
    Row("several_run_starts", "warning", "Several `run_start` lines: the earliest counts."),
    Row("task_guessed", "warning", "The folder does not name the DAWNBench task: it is inferred from the metric."),
    Row("unreadable_line", "warning", "Some lines cannot be read; the message names the first."),
    Row("unreadable_score", "warning", "A logged quality is not a finite number: the evaluation has no value."),
)

OWN_LOGS = (
    Row("averaged", "warning", "Columns contain means of several points or runs: each is read as one run. Export the panel without grouping."),
    Row("bad_line", "error", "Lines that are not JSON objects, or not rows, are ignored."),
    Row("before_start", "warning", "An MLflow run ended, or logged, before it started: those times are unknown."),
    Row("before_the_runs", "info", "Evaluations before the first run are ignored."),
    Row("clocks_differ", "warning", "A log's own clock and its time stamps tell different times. The clock is used; `seconds` selects the other."),
    Row("deleted_run", "warning", "The run was deleted in MLflow and is excluded."),
    Row("duplicate_column", "warning", "Two columns have the same name. Rename one."),
    Row("epoch_back samples_back seconds_back step_back", "error", "The values of a column decrease within a run. Separate the runs with `new_run`, `carry` or a column."),
    Row("guessed_block", "info", "The logs were read by this block, which `--guess` proposed. Write it with `ttastats guess PATH -o FILE` to change it."),
    Row("guessed_clock guessed_column guessed_direction guessed_metric", "info", "Guessed from column names. Confirm it with a block or an option of `ingest`."),
    Row("inferred_setup", "info", "Entry and seed are inferred from recorded settings and from the names of folders and files. A block with `entry` or `seed`, or a pattern that names them, overrides that."),
    Row("new_epoch", "info", "The step counter restarts in each epoch: steps are counted per epoch."),
    Row("no_clock", "error", "No time column, so seconds are unknown. Set one with `--seconds`."),
    Row("no_column", "error", "A given column does not exist."),
    Row("no_exit_record", "warning", "A W&B run without an end: killed, or copied while it was running."),
    Row("no_line", "error", "No line matches the regular expression."),
    Row("no_metric", "error, warning", "No column looks like a quality metric, or none has the given name: use `--metric`."),
    Row("no_table", "error", "The file contains no table."),
    Row("not_guessed", "info", "`--guess` proposes no block for these files; the message says why."),
    Row("not_a_number not_finite", "warning", "Values that are not finite numbers are unknown."),
    Row("open_end", "info", "The file ends with a value and without a line feed, as a killed program leaves it: the value may lack digits."),
    Row("percent_or_fraction", "error", "Values and target differ by a factor of 100. Give the target in the unit of the log."),
    Row("recognised", "info", "The file was recognised as a known format."),
    Row("repeated_steps", "error", "A table has several rows for most steps: rows of several runs. Name the column that tells them apart with `run`."),
    Row("repeated_header", "info", "A repeated header within the table is skipped."),
    Row("restarted", "warning", "Values that a later TensorBoard file replaces are ignored."),
    Row("resumed", "info", "The run was resumed: the seconds of its sessions are added up."),
    Row("row_width", "error", "Rows with more or fewer cells than the header are ignored."),
    Row("summary_is_later", "warning", "The W&B summary has a later step than the history: the store was copied while the run was active."),
    Row("summary_only", "info", "Only the last values of the run are available."),
    Row("torn_tail", "warning", "The last record is truncated: the file was copied while it was written."),
    Row("training_metric", "warning", "The log has no evaluation: a training metric of its known format is read instead."),
    Row("two_clocks", "warning", "Two columns could be the time; the text says which is used."),
    Row("unknown_direction", "warning", "It is unknown whether higher or lower is better. Set it with `--metric 'NAME higher'`."),
    Row("unreadable_record", "warning", "Unreadable records of the store are skipped."),
    Row("unread_settings", "warning", "A file of settings beside the log is damaged, or has YAML tags: these values are refused and left out."),
    Row("write_ahead_log", "warning", "The `-wal` file of the MLflow database is not read. Stop the server first."),
    Row("wrong_checksum", "error", "A record does not match its checksum: reading ends there."),
)

PROBLEMS = (
    Row("constant_epochs", "info", "All runs of an entry reached the target after the same number of epochs, so the variation is unknown.", {
        "constant_epochs.problem": "all {n} runs that reached the target took {progress:.4g} {unit}",
    }),
    Row("epochs_outlier", "info", "The run needed far more or fewer epochs than others of its entry.",
        "{value:.4g} {what}; the median of {n} runs is {median:.4g} (modified z-score {z:+.1f})"),
    Row("epoch_time_outlier", "info", "The run took far more or less time per epoch than others of its entry.",
        "{value:.4g} {what}; the median of {n} runs is {median:.4g} (modified z-score {z:+.1f})"),
    Row("run_count", "warning", "A result has more or fewer runs than the MLPerf rules require.", {
        "run_count.problem": "{n:# run}; the rules require {required}",
    }),
    Row("stall", "info", "The run stalled between two evaluations: check what else the machine did at that time.", {
        "stall.problem": "{seconds:seconds} between two evaluations, {since:seconds} and {at:seconds} after the start; {usual:seconds} is usual",
    }),
)

FLAGS = (
    Row("blocks_differ", "", "`--block`: the ratio varies between blocks more than between runs.",
        "the ratio varies between blocks more than between runs ({p:p}): {ratios}; the verdict is for their mean, and another block may differ"),
    Row("borderline", "", "The t test and the permutation test disagree at the significance level: add runs."),
    Row("constant_epochs", "", "All runs of a side took the same number of epochs: † if the verdict depends on it.", short="constant epochs", advice="The interval ignores that epochs may vary."),
    Row("convergence_differs", "", "`--same-convergence` is refused: epochs to the target differ.",
        "--same-convergence refused: epochs to target differ ({p:p})", short="the sides converge differently"),
    Row("convergence_not_used", "", "`--same-convergence` cannot be used; the text gives the reason.", {
        "convergence_not_used.axis": "--same-convergence ignored: {noun} are compared",
        "convergence_not_used.failed": "--same-convergence ignored: some runs failed",
        "convergence_not_used.unlogged": "--same-convergence ignored: epochs are not logged",
    }),
    Row("earlier_values", "", "`--at`: no run was evaluated at the budget; all have values of one earlier step.",
        "no run was evaluated {at}: values are of {where}"),
    Row("failed_runs", "", "Runs of a side failed: ‡ if the verdict would not survive further failures.", short="failed runs included"),
    Row("grids_differ", "", "Evaluation intervals of the sides differ: the verdict allows for it. Evaluate both equally often.", {
        "grids_differ": "{how}. The target may be met anywhere in the last interval, so the verdict allows for times shorter by up to {a:.1%} on A and {b:.1%} on B",
        "grids_differ.counts": "no unit of progress is logged by both sides, and runs were evaluated {a:.3g} times on A, {b:.3g} times on B until the target",
        "grids_differ.intervals": "evaluation intervals differ (A every {a}, B every {b})",
        "grids_differ.budget": "evaluation intervals around the budget differ ({each}), so the values known by then are not equally old; the verdict allows for what changed up to the next evaluation",
    }, condition="evaluation intervals differ"),
    Row("interpolated", "", "`--interpolate`: the verdict allows for the curvature between evaluations.",
        "values are interpolated, and the verdict allows for the curvature of the curves", condition="values are interpolated"),
    Row("looks_differ", "", "`--best` of unequal numbers of evaluations: no verdict.",
        "values are the best of {a:g} evaluations of A and of {b:g} of B, and the best of more is better by chance; without --best, the last values are compared", condition="best of unequal numbers of evaluations"),
    Row("mixed_speeds", "", "Runs of one entry on a side have two speeds, as of two machines: a claim says so. Separate the machines, or use `--block`.",
        "runs of {side} have two speeds ({speeds}), as of two machines: their mean and interval are of that mixture", short="two speeds on a side", advice="As of two machines: separate them with --where.", condition="two speeds on a side"),
    Row("missing_runs", "", "Runs are missing from the numbered sets of a side."),
    Row("no_look", "", "`--sequential`: the plan has no look at these numbers of runs.",
        "not a planned look, so undecided: {look}"),
    Row("no_runs", "", "A group without runs."),
    Row("no_success", "", "No run of a side reached the target: there is no speedup.", short="no run of a side reached the target"),
    Row("not_evaluated", "", "`--at`: the sides have values of different budgets: no verdict. Use a budget at which all runs were evaluated.",
        "up to the budget, runs were last evaluated {each}: values are of different budgets; {remedy}", condition="values are of different budgets"),
    Row("one_run", "", "One run has no variance: 2 are needed.", short="one run only"),
    Row("paired_seeds", "", "Both sides have the same seeds: `--block seed` compares within them.",
        "A and B have the same {n} seeds; compared within seeds (--block seed): {ratio}"),
    Row("parallel_runs", "", "Most runs of a side were started together: they may have shared a machine.",
        "most runs of {side} started within {seconds:g} s of another: if they shared a machine, they slowed each other down"),
    Row("pooled_setups", "", "Several setups are pooled in a side.",
        "{side} pools {n} setups: the interval is clustered by setup, because runs of one setup are not independent evidence about others", short="several setups pooled", advice="An answer about groups, not one machine (--a system=X).", condition="setups pooled"),
    Row("repeated_seeds", "", "Several runs of a side have one seed: they are no independent evidence.",
        "the {runs} runs of {side} have {n:# seed}: runs of one seed are no independent evidence about others", condition="for these seeds"),
    Row("rejected_logs", "", "Logs of a side could not be read."),
    Row("separate_sessions", "", "The sides follow sessions, or all runs of one started before those of the other. Alternate them.", {
        "separate_sessions.all": "A and B were made in different sessions, so a difference between sessions is part of the ratio{remedy}",
        "separate_sessions.in_part": "A and B follow the sessions in part, so a difference between sessions is part of the ratio{remedy}",
        "separate_sessions.in_turn": "all runs of one side started before those of the other, so the sessions may differ{remedy}",
        "separate_sessions.remedy": ". Alternate A and B within sessions and compare within them (--block day)",
    }, short="sides ran one after the other", advice="Sessions may differ: alternate A and B.", condition="in these sessions"),
    Row("stalled_runs", "", "A run stood still between two evaluations; that is part of its time.", {
        "stalled_runs": "{name}: {n:# run} of {side} stood still for up to {longest} between two evaluations ({usual} is usual); that is part of the time.",
        "stalled_runs.hour": " It is an hour: the clock of the log may have changed to summer time.",
    }),
    Row("straggler", "", "One run took far longer than the others of its side: ‡ if the verdict would not survive further ones."),
    Row("these_blocks", "", "`--block`: the verdict is for these blocks, since they differ or are fewer than three.", {
        "these_blocks": "the verdict is for these blocks: {blocks} do not show that it holds in others (too few to test)",
        "these_blocks.tested": "the verdict is for these blocks: {blocks} do not show that it holds in others ({p:p} by their differences alone)",
    }, condition="in these blocks"),
    Row("unbalanced", "", "One side has at least twice the runs of the other: the coverage of the intervals is lower, and ‡ as above.", short="unequal numbers of runs", advice="Intervals cover less: make as many on both sides."),
    Row("unknown_epochs", "", "Epochs are not logged, so it is unknown whether they vary."),
    Row("unknown_evaluation_interval", "", "Epochs are constant and the evaluation interval is unknown."),
    Row("untimed_failures", "", "Runs failed after an unknown time: no speedup.",
        "{n:# run} of {side} failed after an {unknown}: no speedup"),
    Row("zero_variance", "", "All runs of a side have the same value: p is that of an exact test."),
)


GATE = (
    Row("lost", "failed", "B has no runs of a benchmark of which A has some."),
    Row("never_reached", "failed", "No run of B reached the target, though runs of A did."),
    Row("not_judged", "failed", "The row cannot be judged, for the reason in the text."),
    Row("fails_more", "failed", "More runs of B failed than by chance; p is adjusted for the number of rows."),
    Row("slower worse", "failed", "B is shown to be slower, or of lower quality, by more than the limit."),
    Row("undecided", "failed, undecided", "The limit is neither kept nor exceeded with certainty, which fails `--require`: add runs."),
    Row("no_stragglers", "passed", "The limit is kept if no further run fails or straggles."),
    Row("failed_runs", "passed", "Runs failed, but not more of B than by chance."),
)

NOTES = (
    Row("ablation", "profile", "Layers were removed.",
        "removed layers are replaced by the identity."),
    Row("adjusted fdr holm", "compare", "p is adjusted for the number of comparisons.", {
        "adjusted": "p: adjusted over {tests} comparisons.",
        "fdr": "p: Benjamini-Hochberg over {tests} comparisons (--fdr).{alone}",
        "holm": "p: Holm over {tests} comparisons.{alone}",
        "holm.alone": " {names}: undecided although the interval excludes 1, because an interval is for its comparison alone and the verdict uses p, adjusted for all {tests}.",
    }),
    Row("also_missing", "compare", "`--also`: runs without that metric.",
        "--also: {metrics:join}."),
    Row("assumption", "compare", "What every claim assumes, and at most how many further runs may fail.",
        "claims assume further runs like these. At most {most} of runs may fail."),
    Row("axis", "all", "The unit, if it was chosen automatically.", {
        "axis.none": "no run logs its seconds, so this uses {to_target} (--in {name}).",
        "axis.some": "not every side logs its seconds, so this uses {to_target} (--in {name}).",
    }),
    Row("batch_size device steps warmup workers", "profile", "How the profile was recorded.", {
        "batch_size": "batch size: {size}.",
        "device": "device: {names:list}.",
        "steps": "steps: {rule}.",
        "warmup": "{n:# step} excluded: {rule}.",
        "workers": "workers share the batch. In flight: from the start of an all-reduce to its end, including the wait for the slower worker; exposed: time beyond a step without communication; pure: the same bytes without computation.",
    }),
    Row("batch_sizes", "compare", "Global batch sizes differ, so the epochs are expected to differ.",
        "global batch sizes differ ({names}), so the epochs are expected to differ.", short="batch sizes differ"),
    Row("best_of", "`--best`", "The best of several evaluations overestimates the quality on other data.",
        "the best of several evaluations was selected on the data it is measured on, so it overestimates the quality on other data, more so with more evaluations."),
    Row("blocks blocks_alone blocks_unknown", "`--block`", "The blocks compared; blocks of one side only and runs of unknown block are excluded.", {
        "blocks": "compared within {n} blocks by {by} (runs of A + B: {counts:list}): the estimate and its interval exclude effects that a block has on both sides; the means shown do not. They hold for these blocks{few}.",
        "blocks.few": "; {n} blocks are too few to estimate how much the difference varies between blocks",
        "blocks.one": "only one block by {by} has both sides, {name} ({a} runs of A, {b} of B): the verdict holds for this block only, because variation between blocks is unknown.",
        "blocks_alone": "blocks with runs of one side only are excluded: {names}.",
        "blocks_unknown": "{a} runs of A and {b} of B are excluded: they do not record their {by}.",
        "blocks_unknown.sets": "{n:# run} excluded: {columns} unknown.",
    }),
    Row("bound no_flops roofline tensor_core", "profile", "How operators are classified as compute-bound or memory-bound.", {
        "bound": "compute-bound: {kernels}; all other kernels are memory-bound.",
        "no_flops": "FLOPs are unknown: the trace contains no input shapes. Record them with torch.profiler.profile(record_shapes=True).",
        "roofline": "roofline: the arithmetic intensity of {intensity:significant} FLOPs per byte is {side} the ridge point of {ridge:significant}: the step as a whole is limited by {binds}, if caches are ignored.",
        "tensor_core": "tensor core use is inferred from kernel names, not measured.",
    }),
    Row("capped", "report", "The page shows only some of the rows.",
        "{shown:,} of {n:,} rows are shown, {which}; `ttastats {command} FILE` prints all rows."),
    Row("chose_the_stop", "`--also`", "The metric determined when the runs stopped: it is not an unbiased estimate on other data.",
        "{metrics} determined when the runs stopped, so its value there is not an unbiased estimate of quality on other data."),
    Row("chosen_by_result", "all", "`--where` selected runs by their result: all numbers describe only these runs.",
        "{conditions}: {n:,} of {all:,} runs, selected by their result. All numbers describe only these runs."),
    Row("clock clocks", "profile, compare", "The clock of the times.", {
        "clock": "clock of a recorded step: {clock}.",
        "clocks.runs": "the profiles measure CPU time, the runs wall-clock time: use --in cpu-seconds --clock training for the runs.",
        "clocks": "throughput and TTA are wall-clock; (CPU): in CPU seconds of all workers, which other processes on the machine affect far less.",
    }),
    Row("constant_epochs", "compare, variance", "† and the epoch-safe interval, or equal epochs in all runs.", {
        "constant_epochs": "{parts}",
        "constant_epochs.safe": "all runs of a side needed the same number of epochs, so the interval ignores that epochs may vary. The epoch-safe CI allows for one evaluation interval more or less: {intervals:join}.",
        "constant_epochs.unlogged": "progress is not logged, so it is unknown whether epochs vary ({names}).",
        "constant_epochs.dagger": "† holds only if the number of epochs to the target is constant (--epochs-fixed).",
        "constant_epochs.effects": "{part} are the same in all runs: no setting has an effect on them, and there is no p.",
        "constant_epochs.variance": "share –: epochs did not vary, so there is no variance to decompose.",
    }),
    Row("contended", "all", "CPU contention: other processes used the machine during the runs.", {
        "contended": "CPU contention: the runs waited {waited:.3g} s for a core and used {cpu:.3g} s of CPU time. Use --in cpu-seconds, or repeat the runs on an idle machine.",
        "contended.profile": "other processes used this machine: a step took {times:.1f} times its CPU time in wall-clock time.",
        "contended.unknown": "wall-clock time includes delays by other processes; CPU time is recorded with one thread (--threads 1, torch.set_num_threads(1)) and without compilation.",
    }, short="CPU contention"),
    Row("copies", "all", "Duplicate runs count once.",
        "{n:# duplicate run} excluded (`duplicate_of` names the original).", short="duplicates excluded"),
    Row("ddof", "summary", "Standard deviations divide by n.",
        "standard deviations divide by n (ddof 0), as in Coleman et al. (2019)."),
    Row("definitions method slope", "scaling, variance, effects, power, targets", "Definitions of the columns.", {
        "definitions.effects": "ratios of geometric means, of runs that reached the target{product}. p: Holm over the effects on one part. Shares are type II, corrected for chance (omega squared).",
        "method.effects": "intervals: {how}.",
        "definitions.variance": "± is one standard deviation{ddof}; CV ratio = CV(epochs) / CV({per_epoch}); shares of Var(log {whole}) sum to 1. Only runs that reached the target are used.",
        "definitions.sources": "variances of the log, of runs that reached the target, estimated together (REML); `run` is what is left. p: likelihood ratio. A source of few values has a rough variance.",
        "definitions.scaling": "efficiency = speedup / ratio of accelerators; throughput efficiency: from time per epoch; statistical efficiency: epochs of the base / epochs, the cost of larger batches. For geometric means the two multiply exactly.",
        "slope": "log-log slope, 1 is linear: {slopes:join}.",
        "method.power": "Welch's two-sided t test of the ratio of {mean} at 5%, power {power:.0%}, with equal CV and equal numbers of runs on both sides, at least {least}. Fix the number of runs in advance: testing after every run and stopping at p < .05 inflates false positives.",
        "method.targets": "* the official target. {what} here {verb} the first evaluation that meets the target, ignoring the official timing rule, as with --target. A run that misses the target counts with all its {noun} (ERT).{together} † holds only if the number of epochs to the target is constant.{stragglers}",
        "method.together": " p and verdicts hold for all targets of a group together (Holm over the targets at which the times differ); an interval is for its target alone, so that it may exclude 1 beside ~ undecided. `compare` judges the official target alone.",
        "method.stragglers": " ‡ holds only if no further run fails or straggles; so few runs cannot verify that.",
    }),
    Row("disturbed", "profile", "Operators take longer in total than the unprofiled step.",
        "operators sum to {times:.1f} times the unprofiled step: other processes disturbed one of the two measurements. Record the profile again."),
    Row("ends_differ lengths_differ", "`--at-end`", "Runs ended at different budgets: no verdict.", {
        "ends_differ": "runs ended at different lengths, so there is no verdict: {ends}.",
        "ends_differ.side": "{name}{side}: {n_longest} of {n:# run} at {most}, the shortest at {least}{able}",
        "lengths_differ": "the sides ended at different lengths and are compared at their ends: {ends}. The --at in parentheses compares them at equal cost.",
    }),
    Row("factors samples step_lengths unexplained", "compare with profiles", "How the parts of a step explain the throughput ratio.", {
        "factors": "the factors multiply to the throughput ratio of the runs; shares are shares of its logarithm (logarithmic mean Divisia index). {intervals}",
        "factors.none": "Without repeated profiles the parts have no intervals: give two or more per side by repeating --profile-a and --profile-b.",
        "factors.some": "Welch intervals over {a} profiles of A and {b} of B.",
        "samples": "a step of A has {a:,.0f} samples, one of B {b:,.0f}: factors are per sample.",
        "step_lengths": "a step takes {steps:join}: the runs' time includes everything outside the steps.",
        "unexplained": "the profiles cannot be used: the runs have no time per epoch, sample or step.",
        "samples.profile": "A: {a}, B: {b}. Intervals are Welch intervals of the difference of means{holm}.{steps}",
        "samples.holm": "; p of parts: Holm over {tests}",
        "samples.steps": " Steps of one profile do not show how much profiles vary: record several.",
    }),
    Row("failed_runs", "all", "How failed runs are counted.", {
        "failed_runs": "{failed:,} of {n:# run} did not reach the target ({reasons}); all count in n and in the {expected} (ERT), not in the mean.",
        "failed_runs.compare": "some runs failed: the {number} is the ratio of expected {what} to a success (ERT), which include failed runs: {each:join}.",
        "failed_runs.power": "where runs failed, the CV is that of the {expected} to a success (ERT).",
        "failed_runs.rcp": "{n:# run} did not reach the target: the mean of the entry includes the cost of failed runs per success; the official mean counts each as a slowest run.",
        "failed_runs.table": "runs that did not reach the target count in `reached` and in the TTA speedup.",
    }),
    Row("few_runs", "compare, summary", "How many runs an interval or a test needs.", {
        "few_runs": "the permutation test (--wide) needs {runs} runs per side to reach p < {limit}.",
        "few_runs.cv": "no CV interval for {names:list 3}: it needs at least 3 runs that reached the target.",
        "few_runs.share": "no share for {names:list 3}: two runs give one part nearly all.",
        "few_runs.effects": "no intervals: {n:# run} with {columns:# number/numbers} to estimate {df:? leaves/leave} {df:# degree/degrees} of freedom, and 4 are needed.",
        "few_runs.sessions": "no intervals: a setting is constant within a session, and there are too few sessions: 2 for each level, and 2 more than numbers to estimate.",
        "few_runs.interval": "no interval for {names:list 3}: it needs 10 runs.",
    }, short="few runs"),
    Row("plan_range plan_guess", "power", "What the CV of few runs leaves open: the runs needed at its limits; a plan without an interval of the CV.", {
        "plan_range": "[in brackets]: runs needed at the lower and the upper limit of the CV. A plan for the CV itself has less power than stated where the true one is larger.",
        "plan_guess": "without a range: the CV has no interval, so the number of runs is a guess; make three or more runs that reach the target.",
    }),
    Row("like_those_seen", "summary", "CV intervals of fewer than 10 runs assume that no rare slow run is unseen.",
        "CV intervals assume further runs like those seen. If one run in 20 takes three times as long, 77% of the samples of 5 runs contain none of these, and their interval is too low."),
    Row("repeated_times unusual_run", "summary, variance", "Why a CV or a share has no interval.", {
        "repeated_times.cv": "no CV interval for {names:list 3}: two of fewer than 5 runs took the same time, or all runs did, so that most of the spread may be hidden.",
        "unusual_run.cv": "no CV interval for {names:list 3}: one of fewer than 10 runs is unlike the others (Grubbs' test, 5%), and how often such a run comes is unknown.",
        "unusual_run.interval": "no interval for {names:list 3}: the time per epoch of one run is unlike the others' (Grubbs' test, 5%), and how often such a run comes is unknown.",
    }),
    Row("parts_cancel no_information", "variance", "Why there is no share, or no interval of it.", {
        "parts_cancel.share": "no share for {names:list 3}: epochs and time per epoch cancel each other, so that their sum varies less than either.",
        "no_information.interval": "no interval for {names:list 3}: it would hold nearly every share from 0 to 100%.",
    }),
    Row("expected", "scaling", "Some runs failed: expected times to a success are compared.",
        "some runs failed: this compares the {expected} to a success (ERT), failed runs included, as `compare` does; so do the efficiency and the slope. Throughput and statistical efficiency are those of the runs that reached the target."),
    Row("aliased", "effects", "Settings were changed together: only what they do together is known.",
        "{names:join} were changed together in these runs: what they do together is shown, and which of them does it cannot be told.", short="changed together"),
    Row("no_variance", "variance", "The runs cannot tell what these sources add (`--sources`).",
        "{names:list}: no variance of {n:? its/their} own. It needs 3 values, several runs of a value, and values that do not go with those of another source."),
    Row("constant_setting level_left_out unknown_setting empty_cells", "effects, variance", "What the runs cannot tell of a setting.", {
        "constant_setting": "{names:list} {n:? has/have} the same value in all runs: nothing to compare.",
        "level_left_out": "{names:list}: fewer than 2 runs reached the target, so times of {n:? this level are/these levels are} left out.",
        "unknown_setting": "{n:# run} left out: a setting is not recorded.",
        "empty_cells": "no interaction of {names:list}: combinations are missing.",
    }),
    Row("survivors", "effects", "Some runs failed: effects on times are those among runs that reached the target.", {
        "survivors": "{failed:# run} of {n} did not reach the target: effects on times are those among runs that reached it.",
        "survivors.differ": "{failed:# run} of {n} did not reach the target, and {names:list} {m:? changes/change} how many do: an effect on times is one among the runs that reached it, which are no longer alike.",
    }, short="times of successful runs only"),
    Row("not_straight", "effects", "A doubling does not have the same effect everywhere.",
        "{names:list}: the effect of a doubling is not the same everywhere, so one number for it misleads; --levels {option} shows each value.", short="no straight line"),
    Row("uneven_noise", "effects", "A level with fewer runs varies more than another: intervals are too short.",
        "{names:list}: a level with fewer runs varies twice as much as another, and a 95% interval may hold the truth in 92% of such cases only.", short="uneven noise"),
    Row("few_successes", "power", "How many runs a plan needs where too few reached the target.", {
        "few_successes": "{of}no plan, since {reached} of {n:# run} reached the target; at least {needed} must{rate}.",
        "few_successes.rate": ", which takes about {total} runs at this failure rate",
        "few_successes.groups": "{n} groups: no plan, since too few runs reached the target; at least 2 must, or 3 where others failed.",
    }),
    Row("first_failure stable_range no_official_target together", "targets", "Up to which target every run succeeds, and for which targets the verdict is the same.", {
        "first_failure": "{of}every run reaches {hardest:.5g}; {beyond} it some runs fail.",
        "stable_range": "{of}the verdict at {official:.5g}, {verdict}, is the same at the evaluated targets from {lowest:.5g} to {highest:.5g}.",
        "no_official_target": "{names}: no official target of this metric that all runs of a group share.",
        "together": "{benchmark}: {metric} varies; {others} must be met at the same checkpoint.",
    }),
    Row("fixed_length", "compare, summary", "All runs have the same length: consider `--at-end`.",
        "{of}all runs have the same length ({length}), and {failed} of {n:# run} did not reach the target, which counts as failure here. To compare quality and cost at that length, add --at-end.", short="runs of a fixed length"),
    Row("geomean", "compare", "Ratios are of geometric means.", {
        "geomean": "{ratios} of geometric means{where} (--estimand geomean).",
        "geomean.costs": "costs are compared by geometric means (--estimand geomean).",
    }),
    Row("hardware_names", "compare", "Names that are treated as the same hardware.",
        "treated as the same hardware: {names:join}."),
    Row("left_out more top rows_left_out verbose", "all", "What is hidden, and how to show it.", {
        "rows_left_out": "{conditions}: {shown:# row} shown, {hidden:# other row} hidden.",
        "rows_left_out.compare": "{conditions}: {shown:# row} shown, {hidden:# other row} hidden; adjusted p-values, the geo-mean and the sentence below include all rows.",
        "top": "--top {top}: {hidden:# more row} not shown ({each}); --top 0 shows all.",
        "left_out": "{n:# problem} of files without a run excluded: the conditions cannot be evaluated for them.",
        "more.problems": "--code CODE shows all problems of one code; --format csv or json shows all problems.",
        "more.parts": "{n:,} more with smaller changes are not shown; --format csv shows all.",
        "verbose": "-v shows the official numbers, error rates and evaluations below each entry.",
    }),
    Row("left_out_runs", "targets", "Runs or logs of a group that are in no number.",
        "{name}: {text}."),
    Row("inference missing no_position other_metric side_log stopped unreadable", "all", "Runs or logs that count nowhere, with the reason.", {
        "side_log": "{n:# log} outside the result files of the same entry excluded; `ttastats runs` marks them.",
        "inference": "{n:# inference entry/inference entries} without training excluded; `ttastats runs` marks them.",
        "stopped": "{n:# run} that the user interrupted (include them with --censor-stopped) excluded; `ttastats runs` marks them.",
        "unreadable": "{n:# log} that could not be read excluded; `ttastats runs` marks them.",
        "missing": "{n:# run} missing from numbered sets excluded; `ttastats runs` marks them.",
        "other_metric": "{n:# run} of entries that log other metrics, or several (select one with --metric) excluded; `ttastats runs` marks them.",
        "no_position": "{n:# run} reached the target but did not log {n:? its/their} {to_target}: excluded.",
    }),
    Row("many_entries", "rcp", "How many entries are expected to differ by chance.",
        "{differ} of {n:# entry/entries} differ from the reference at {confidence:percent} confidence each; {chance:significant 2} would be expected by chance if all converged like the reference."),
    Row("mixed_curves", "scaling", "A curve mixes different setups.",
        "warning: curves mix different setups ({curves:join}): the effect of more accelerators cannot be separated from that of different hardware."),
    Row("mixed_speeds", "summary", "Runs of one entry have two speeds: mean and CV are of that mixture.", {
        "mixed_speeds.summary": "{name}: runs have two speeds ({speeds}), as of two machines: mean and CV are of that mixture.",
    }),
    Row("no_length", "all", "Runs that ended at their start.",
        "{n:# run} ended at the start and counted as failed after {length}: {names:list 4}."),
    Row("no_stragglers", "compare", "‡: why further runs may fail or straggle, and at most how many.",
        "holds if no further run fails or straggles ({reasons:join}). At most {most} of runs may fail or take three times as {much}.", short="holds if no further run fails", advice="More runs would show how often runs fail."),
    Row("no_success", "compare", "A side without a success: the verdict compares the fractions of runs that reached the target.",
        "no run of a side reached the target ({names}; {spent}): there is no {number}; the verdict compares the fractions of runs that reached it."),
    Row("no_such_value", "all", "A condition names a value that no run has.",
        "{option}: no {what} has {column}={value}. {there_are}"),
    Row("no_target", "all", "No target is known, or none in common: `--target`, or `--at-end`.", {
        "no_target": "no quality target is known: set one with --target METRIC=VALUE.",
        "no_target.compare": "no quality target is common to the runs: set one with --target METRIC=VALUE, or compare the ends with --at-end.",
    }),
    Row("no_throughput", "compare, scaling, variance", "The unit does not include time.", {
        "no_throughput": "this compares {to_target}, not time, so no throughput is shown.",
        "no_throughput.variance": "± is one standard deviation{ddof}. {to_target} do not depend on the time per epoch, so there is no variance to decompose.",
        "no_throughput.scaling": "this compares {to_target}: efficiency is defined for time only and not shown.",
    }),
    Row("not_asked", "all", "A target does not apply to these runs.",
        "{option}: excluded (not counted as failed): {benchmarks}."),
    Row("not_drawn", "report, plot", "A plot that is not possible for these runs, with the reason.", {
        "not_drawn": "the plot `{kind}` is omitted for more than {most:,} runs, because its intervals are slow to compute. Draw it with `ttastats plot {kind} FILE -o {kind}.html`.",
        "not_drawn.profiles": "{drawn} of {n} profiles are drawn, the first of each file.",
    }),
    Row("ties other_sizes", "rank, summary", "What `ties` means; sizes that are not shown.", {
        "ties": "ranks beside one bar cannot be told apart ({level}, as `compare` judges, by Holm over the pairs of a table, {pairs:,} in all).",
        "other_sizes.alone": "{n:# size/sizes} with one entry not shown; --format csv has all.",
        "other_sizes.entries": "{n:# entry/entries} of other sizes not shown: --where accelerators=N shows one size, --top 0 all.",
        "other_sizes.benchmarks": "of {n:# entry/entries}, the first of each size is shown: --where benchmark=NAME shows one benchmark, --top 0 all.",
        "other_sizes.mine": "{n:# benchmark and size/benchmarks and sizes} without an entry of --mine not shown.",
    }),
    Row("promise unordered nights_alike few_nights few_setups", "history", "What an alarm promises, and for which nights it does not hold.", {
        "promise": "an alarm is raised in at most 1 of 100 series of 100 unchanged nights, for all parts of a setup together; the first look is after {wait} nights.",
        "unordered": "{n:# run} excluded: {what} unknown.",
        "nights_alike": "{part}: a night resembles the night before (autocorrelation {r:.2f}), so false alarms are more frequent than promised (34% of series at .4). Order jobs at random, keep to one host, and give each night its mean.",
        "few_nights": "{n:# night}: changes are looked for from {least} nights on.",
        "few_setups": "{setups:# setup} with at most {n:# night}: changes are looked for from {least} nights on.",
    }),
    Row("official rcp interpolated smallest grids_differ slack scaled published no_reference", "rcp, score", "How references are selected, and the result by the official rules.", {
        "rcp": "RCP, reference convergence point: what the reference implementation needs at one batch size to reach the target. entry/reference: mean of the entry divided by the mean of the reference, below 1 if the entry needs less; the interval includes the variance of both.",
        "official": "official, factor: verdict and scaling factor of the MLPerf rules. They assume that the entry has the variance of the reference, and scale up the time of every passed entry whose mean is below that of the reference, even if the difference is chance.",
        "interpolated.rcp": "{n:# entry/entries} at a batch size without a record: the reference is interpolated, and its interval includes the interpolation error.",
        "interpolated.claim": "values are interpolated: a claim holds if it also does with a mean that is worse by the curvature of the curves, which takes two evaluations before the budget, or after it.",
        "smallest": "{n:# entry/entries} at a batch size below the smallest record, compared with that record: a smaller batch should need less.",
        "grids_differ.rcp": "{n:# entry is/entries are} evaluated at a different interval than the reference: this alone shifts the mean by up to half the difference of the intervals (up if coarser, down if finer).",
        "slack": "llama31_405b may converge 46,080 samples before the limit. The rules allow this for v5.0 only; the official checker, which is followed here, also allows it in later rounds: {n:# entry/entries} would fail by the rules as written.",
        "scaled.rcp": "factor: {n:# entry is/entries are} scaled, of which {earlier} converge significantly earlier than the reference.",
        "scaled.score": "scaling: {scaled} of {n:# result} converged in fewer epochs than the reference; scaling.json normalizes them to its convergence. raw is unscaled.",
        "published.same": "factor: equal to the published scaling.json of {n:# entry/entries} of {n}.",
        "published.other": "factor: differs from the published scaling.json of {other} of {n} entries (`published_factor` of --format json).",
        "no_reference": "{n:# entry has/entries have} no reference: {reasons}.",
    }),
    Row("official_score", "score", "Definition of the official score.",
        "score: the official MLPerf result, an olympic mean of run_stop - run_start (without the fastest and slowest runs; a failed run counts as a slowest) times the scaling factor. `summary` and `compare` use every run and neither trim nor scale."),
    Row("one_run runs_missing several_claims sigma_known", "claim", "Assumptions of a claim.", {
        "one_run.claim": "an interval needs 2 runs, or --sigma.",
        "runs_missing": "a claim about all runs cannot be confirmed while some have no value, because the mean of the others ignores the failures. Use --where to select runs by their settings, not by their outcome.",
        "several_claims": "each of the {n} claims is tested separately at the {level:percent} level: of many false claims, some are confirmed by chance.",
        "sigma_known": "z test; the standard deviation of one run, {sigma:g}, is taken as known.",
    }),
    Row("outliers", "problems", "Definition of outliers.",
        "outliers: in entries of at least {least} runs, runs whose logarithm has a modified z-score beyond {limit} and that are at least {away:.0%} (for epochs, also more than one evaluation interval) from the median."),
    Row("power", "compare", "How many runs would be needed.",
        "at 80% power{among}: {plans:join}."),
    Row("profile_of_others", "compare with profiles", "Profiles and runs differ in workload, device or batch size.",
        "profiles and runs of {side} do not match: {differ:join}."),
    Row("ended_before evaluated_before evaluated_later never_evaluated no_place not_a_number", "`--at`", "Runs without a value at the budget, with the reason.", {
        "ended_before": "ended before it",
        "evaluated_later": "were first evaluated after it",
        "evaluated_before": "were not evaluated again after it",
        "not_a_number": "had a value that is not a number",
        "never_evaluated": "logged no value of the metric",
        "no_place": "do not log their progress",
    }),
    Row("rare_runs", "claim, `--at-end`", "Holds if no further run ends far from these.",
        "holds if no further run ends far from these: {n} of {n} runs are compatible with up to {share:.0%} that do."),
    Row("rules", "record", "The contest's rules and their version."),
    Row("run_count", "score", "Results with a number of runs that the rules do not allow.",
        "{n:# result} with a different number of runs than the rules require: scored anyway, as the official summarizer does, but not a valid submission."),
    Row("runs_vary", "all", "A group mixes setups: its statistics may be meaningless.", {
        "runs_vary": "warning: groups mix setups that differ in {what}{which}. A statistic of a mixed group may be meaningless{advice}.",
        "runs_vary.row": "     pools runs of different settings: {names:list}",
        }, short="setups differ within a side", advice="Split with --by, or filter with --where."),
    Row("same_convergence", "compare", "`--same-convergence` assumes equal epochs.",
        "--same-convergence: the speedup is the throughput ratio and assumes equal epochs to the target; permutation test of that assumption: {tests}."),
    Row("saturation", "profile", "The batch size from which throughput no longer grows.",
        "large enough: {size} ({rule})."),
    Row("sequential", "compare, power", "The plan of `--sequential`.", {
        "sequential": "--sequential: intervals, p and verdicts are valid at every look from {first} to {most} runs per side, if this maximum was fixed before the first look.{wider}",
        "sequential.wider": " They are wider than for a fixed number of runs: {each}.",
        "sequential.power": "looks: average runs per side of `compare --sequential --max-runs {max_runs}` with a look after every run from {first} on and no failed runs, and how often it ends decided; 4,000 simulations at 5%.",
    }),
    Row("separate_sessions", "`--at-end`", "All runs of one side were started before the other's."),
    Row("stall", "problems", "Definition of a stall.", {
        "stall": "stall: a time between two evaluations of more than {times:g} times the median of its run and, at the same position, of the other runs of its entry, by {share:.0%} of the run or more.",
    }),
    Row("shared_runs", "compare", "Runs on both sides are excluded.",
        "{n:# identical run} on both sides ({names:list}; such as {example}): excluded from both.", short="shared runs excluded"),
    Row("targets_differ", "compare", "The sides have different targets.",
        "{groups:join}.", short="targets differ"),
    Row("undecided", "compare", "Undecided does not mean equal.", {
        "undecided": "~ {meanings}. That does not show equality; see --margin.{more}",
        "undecided.looks": " Add one run to each side, alternating, and compare again.",
        "undecided.qualities": "~ undecided does not mean equal.{more}",
        "undecided.margin": " Use --margin 0.001 to test equality within a margin.",
    }),
    Row("unknown_epochs unknown_scale", "variance, scaling", "Runs without epochs, or without a number of accelerators.", {
        "unknown_epochs": "runs whose logs do not record epochs are excluded.",
        "unknown_scale": "{n:# run} excluded: the number of accelerators is not logged.",
    }),
    Row("unmatched", "compare", "Benchmarks on one side only.", {
        "unmatched": "present on one side only: {names:list}.{mean}",
        "unmatched.mean": " The geometric mean covers only the matched ones.",
        "unmatched.qualities": "excluded, no match on the other side: {names}.",
    }, short="unmatched runs", advice="Present on one side only, so in no number."),
    Row("unsteady", "compare", "Time per epoch varies within a side.", {
        "unsteady": "{per_epoch} varies by more than 3% within a side ({names}); possible causes: unsteady hardware, start-up time in the TTA{more}.",
        "unsteady.constant": ", or an epoch count that does not measure progress ({names})",
    }, short="unsteady time per epoch", advice="Check the machine, and start-up time."),
    Row("zero_variance", "power", "A sample CV of 0 does not mean zero variance.", {
        "zero_variance.power": "a sample CV of 0 does not mean zero variance.",
    }),
)

#: Texts that belong to no code, or to several.
PHRASES = {
    "setup_differs": "A and B differ in {column}: {how}.",
    "prior_used": "{n} earlier entries, noise {sd:.1%}, worth {df:.1f} runs",
    "prior_refused": "by these runs alone, since {why}",
    "prior_few_entries": "{n:# earlier entry is/earlier entries are} like these (5 needed: same benchmark and target; for epochs, near batch size)",
    "prior_no_noise": "{constant:.0%} of the {n} earlier entries have no noise to learn from",
    "prior_worthless": "the noise of the {n} earlier entries is too different to say anything",
    "prior_misfit": "they vary far more than the {n} earlier entries",
    "prior_coarse": "all runs of a side are equal: they are counted too coarsely",
    "prior_few_runs": "a side has one run",
    "prior_enough_runs": "they are enough to show their noise",
    "history_unseen": "With this noise, a change under {unseen} stays unseen for {nights} nights.",
    "history_none": "No change in {nights} nights.",
    "history_changes": "{n:# change} in {nights} nights.",
    "history_step": "{part}: {size} after {after}, by {by}",
    "history_drift": "{part}: drifts by {size} over {nights} nights.",
    "history_run_next": "; run {run} again to halve them",
    "history_alike": "; nights resemble the night before, so no gate judges by it",
    "history_slower": "{part} {size} since {since}; +{limit} is allowed",
    "history_fails_more": "failures {size} since {since}",
    "no_value": "{at}: {lost} of {n:# run}{of} {why} and are excluded from the mean: {names:list 4}.",
}
# fmt: on

#: The rows by the heading of their table in the documentation.
ROWS = {
    "Files": FILES,
    "MLPerf and DAWNBench": BENCHMARKS,
    "Your own logs": OWN_LOGS,
    "Found by `ttastats problems`": PROBLEMS,
    "Flags of rows": FLAGS,
    "Findings of a gate": GATE,
    "Notes": NOTES,
}

_ALL = tuple(row for rows in ROWS.values() for row in rows)

#: The texts by their keys.
TEXTS = {
    key: text
    for row in _ALL
    for key, text in ({row.codes: row.texts} if isinstance(row.texts, str) else row.texts).items()
    if text
} | PHRASES

#: The few words for a code on a page, and those behind a verdict.
SHORT = {code: row.short for row in _ALL if row.short for code in row.codes.split()}
CONDITIONS = {code: row.condition for row in _ALL if row.condition for code in row.codes.split()}
ADVICE = {code: row.advice for row in _ALL if row.advice for code in row.codes.split()}

#: Notes that say what to distrust in a comparison, worst first; a `bad` one may turn its answer.
DOUBTS: dict[str, Literal["bad", "plain"]] = {
    **dict.fromkeys(
        ("pooled_setups", "mixed_speeds", "targets_differ", "runs_vary", "no_success",
         "failed_runs", "one_run", "contended", "fixed_length", "convergence_differs"),
        "bad",
    ),
    **dict.fromkeys(
        ("no_stragglers", "constant_epochs", "batch_sizes", "unsteady", "unbalanced",
         "separate_sessions", "few_runs", "unmatched", "shared_runs", "copies"),
        "plain",
    ),
}  # fmt: skip
#: Notes that a screen shows as cautions, worst first: what chose the rows, doubts, and others. All
#: else it only counts, such as definitions.
CAUTIONS = (
    "chosen_by_result", "rows_left_out", "top", "other_sizes", *DOUBTS,
    "no_target", "ends_differ", "not_evaluated", "looks_differ", "runs_missing", "several_claims",
    "these_blocks", "blocks_differ", "blocks_alone", "blocks_unknown", "grids_differ",
    "repeated_seeds", "parallel_runs", "stalled_runs", "profile_of_others", "clocks", "disturbed",
    "nights_alike", "unordered", "aliased", "survivors", "not_straight", "empty_cells",
    "level_left_out", "unknown_setting", "no_variance", "constant_setting", "uneven_noise", "mixed_curves",
    "no_length", "unreadable", "missing", "stopped", "other_metric", "no_position",
    "lengths_differ", "convergence_not_used", "no_reference", "run_count", "setup_differs",
    "not_asked", "also_missing", "no_such_value", "left_out_runs", "left_out", "more",
)  # fmt: skip
