# Each target installs the system packages that it needs when they are missing; see scripts/require.

.PHONY: demo demo-workflow test check fuzz soak soak-simulation soak-orders soak-chaos mutations bench docs clean
.PHONY: check-format check-samples check-time-limits check-macros check-compose check-build check-docs check-core
.PHONY: check-threads
.PHONY: check-consumers check-server check-examples

# Three services share one config. Without redis-server it runs on the fake, so a failed installation is no obstacle.
demo:
	@scripts/require hiredis
	@[ -n "$$REDIS_URL" ] || scripts/require redis-server || echo "Going on without a server."
	swift build --product config-demo
	@"$$(swift build --show-bin-path)/config-demo"

# What keeps the processors busy for long, and is run by itself, so that no test waits in vain because of it.
BUSY_TESTS = '^(SharedStateRedisTests\.SimulationTests|IntegrationTests\.ChaosTests)'

# What only computes: on two processors two such tests leave no thread to those that wait for something.
PURE_TESTS = '^(DocumentTests\.|SharedStateRedisTests\.(HostileAnswersTests|HealingTests|LinkFleetTests))'

# As many tests at once as wait for something while others run. A thousand on two processors only wait for each other.
TEST_ENVIRONMENT = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8

# Every wait of a test has an end, and every suite a time limit. Should a run stand still all the same, it ends here: after
# many times what it takes. Building is not counted.
TEST_MINUTES = 30
RUN_TESTS = scripts/run-tests $(TEST_MINUTES)

# The tests start servers of their own.
test:
	@scripts/require hiredis redis-server
	swift build --build-tests
	$(TEST_ENVIRONMENT) $(RUN_TESTS) swift test --skip-build --skip $(BUSY_TESTS) --skip $(PURE_TESTS)
	$(TEST_ENVIRONMENT) $(RUN_TESTS) swift test --skip-build --filter $(PURE_TESTS)
	$(TEST_ENVIRONMENT) $(RUN_TESTS) swift test --skip-build --filter $(BUSY_TESTS)

# A payment service is killed between charging an order and saving that.
demo-workflow:
	@scripts/require hiredis redis-server
	swift run $(EXAMPLES_FLAGS) order-workflow

# What must hold beyond the tests: form, documentation, no warnings, no data races.
check: check-format check-samples check-time-limits check-macros check-compose check-build check-docs check-core \
	check-consumers check-examples check-threads

# Looks for inputs that break what reads documents, messages, replies and URLs, for FUZZ_SECONDS altogether.
fuzz:
	@scripts/require hiredis
	scripts/fuzz $(FUZZ)

# The simulation looks into the state machines, also when it is optimised. The variable is for Package.swift.
RUN_SOAK = BUILD_SOAK=1 swift run -c release -Xswiftc -enable-testing --scratch-path .build-soak soak

# Long runs of what the tests do for seconds.
soak: soak-orders soak-simulation soak-chaos

# Millions of random schedules; `make soak-simulation SOAK='--seed 17'` repeats one and tells what happens in it.
soak-simulation:
	@scripts/require hiredis
	$(RUN_SOAK) $(SOAK)

# Every order of events in small worlds that take minutes.
soak-orders:
	@scripts/require hiredis
	$(RUN_SOAK) --orders

# Services in several processes, whose server is killed, emptied, paused and cut off.
soak-chaos:
	@scripts/require hiredis redis-server
	swift build --build-tests
	seconds=$${CHAOS_SECONDS:-600} && CHAOS_SECONDS=$$seconds \
		scripts/run-tests $$((seconds / 15 + $(TEST_MINUTES))) swift test --skip-build --filter '^IntegrationTests\.ChaosTests'

# Breaks the code on purpose, in a copy, to see the simulation find it.
mutations:
	@scripts/require hiredis
	scripts/check-mutations

bench:
	@scripts/require hiredis redis-server
	cd Benchmarks && swift run -c release bench

docs:
	@scripts/require hiredis
	swift build
	scripts/build-docs "$$(swift build --show-bin-path)" .build/docs

clean:
	rm -rf .build .build-check .build-consumers .build-core .build-deployment .build-examples .build-mutations .build-soak \
		.build-tutorial Benchmarks/.build Examples/.build Fuzz/.build

SWIFT_FILES = $(wildcard Package.swift Sources Tests Snippets scripts Benchmarks/Package.swift \
	Benchmarks/Sources/bench Examples/Package.swift Examples/Bot Examples/LineServer Examples/OrderWorkflow \
	Fuzz/Package.swift Fuzz/Sources/fuzz)

check-format:
	swift format lint --strict --parallel --recursive $(SWIFT_FILES)

check-samples:
	scripts/check-samples

check-time-limits:
	scripts/check-time-limits

# The macros read declarations as SwiftSyntax does: thousands of them, in all sources that are there.
check-macros:
	scripts/check-macros

check-compose:
	@scripts/require compose
	scripts/check-compose

# One build with the thread sanitizer serves the checks below, too. The variable is for Package.swift.
CHECK_ENVIRONMENT = THREAD_SANITIZER=1
CHECK_FLAGS = --sanitize thread --scratch-path .build-check -Xswiftc -warnings-as-errors

check-build:
	@scripts/require hiredis
	$(CHECK_ENVIRONMENT) swift build --build-tests $(CHECK_FLAGS)

check-docs: check-build
	scripts/build-docs "$$($(CHECK_ENVIRONMENT) swift build --show-bin-path $(CHECK_FLAGS))" .build-check/docs

check-core:
	scripts/check-core

# Packages that depend on this one. The optimiser compiles one of them, and with it what no test has built.
check-consumers:
	@scripts/require hiredis redis-server curl
	scripts/check-consumers
	scripts/check-server
	scripts/check-tutorial
	scripts/check-deployment

SERVER_FLAGS = --package-path Tests/Consumers/Server --scratch-path $(CURDIR)/.build-consumers

# Not a part of 'make check': a client for the tests, with a TLS library of its own, takes four minutes to build.
check-server:
	@scripts/require hiredis redis-server curl
	swift build --build-tests $(SERVER_FLAGS)
	scripts/in-time 5 swift test --skip-build $(SERVER_FLAGS)
	scripts/check-server

# The programs of Examples, and their tests.
EXAMPLES_FLAGS = --package-path Examples --scratch-path .build-examples -Xswiftc -warnings-as-errors

check-examples:
	@scripts/require hiredis
	swift build --build-tests $(EXAMPLES_FLAGS)
	$(TEST_ENVIRONMENT) scripts/run-tests 5 swift test --skip-build $(EXAMPLES_FLAGS)

# Tests that start this program again to see it end: the runner waits for children in a way that the sanitizer's own
# children, and those of other tests, keep busy for ever. They run in the ordinary run.
EXIT_TESTS = '(NestedUseTests|DependencyTrapTests|IdentifiedArrayTrapTests|FileStorageCrashTests|normalExit\(\)|ExactlyOnceUpdatesTests\.processes\(\)|DescriptorTests|CompileError|readInReducer)'

# Fill a server's memory, and look at everything all the time: that takes seconds, and minutes under the sanitizer, in
# which those who wait have lost their patience. They run in the ordinary run.
MEMORY_TESTS = 'EvictionTests/(pressure|comingBackTogether)'

# Keep the processors busy with code that is in nobody's way. Under the sanitizer that takes minutes.
SLOW_CODE_TESTS = ManySlowValuesTests

# Everything in a world runs on one thread. Thousands of worlds take minutes under the sanitizer, in which nobody else gets on.
WORLD_TESTS = TestWorldTests

# What talks to servers blocks threads, which those that only wait for each other miss: one after the other, and of those
# that talk to servers half as many at once, which takes less time.
SERVER_TESTS = '^IntegrationTests\.'
SERVER_TEST_ENVIRONMENT = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
THREAD_TESTS = scripts/run-tests 60 swift test $(CHECK_FLAGS) --skip-build \
	--skip $(EXIT_TESTS) --skip $(BUSY_TESTS) --skip $(PURE_TESTS) --skip $(MEMORY_TESTS) --skip $(SLOW_CODE_TESTS) \
	--skip $(WORLD_TESTS)

check-threads: check-build
	@scripts/require hiredis redis-server
	$(CHECK_ENVIRONMENT) $(TEST_ENVIRONMENT) $(THREAD_TESTS) --skip $(SERVER_TESTS)
	$(CHECK_ENVIRONMENT) $(SERVER_TEST_ENVIRONMENT) $(THREAD_TESTS) --filter $(SERVER_TESTS)
